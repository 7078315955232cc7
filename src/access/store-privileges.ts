import type { Insertable } from 'kysely'
import type { Tx } from '../platform/database/db.ts'
import type { InOrg } from './scope.ts'
import type { PrivilegeTable } from './tables.ts'

export type NewPrivilege = Pick<Insertable<PrivilegeTable>, 'id' | 'adminId' | 'scope' | 'role'> &
  Partial<Pick<Insertable<PrivilegeTable>, 'siteId' | 'sitegroupId' | 'views'>>

export async function insertPrivilege(tx: Tx, { orgId }: InOrg, privilege: NewPrivilege): Promise<void> {
  await tx
    .insertInto('privilege')
    .values({ siteId: null, sitegroupId: null, views: null, ...privilege, orgId })
    .execute()
}

export async function deletePrivileges(tx: Tx, { orgId }: InOrg, adminId: string): Promise<void> {
  await tx.deleteFrom('privilege').where('orgId', '=', orgId).where('adminId', '=', adminId).execute()
}

/** A privilege that an admin has lost. */
export interface LostPrivilege {
  readonly adminId: string
  readonly email: string
  readonly role: PrivilegeTable['role']
}

/** A part of the organization in which privileges count. */
export type PrivilegePlace = { readonly siteId: string } | { readonly groupId: string }

/**
 * Deletes the privileges of all admins in the place.
 *
 * @returns The deleted privileges, by address.
 */
export async function deletePrivilegesAt(tx: Tx, scope: InOrg, place: PrivilegePlace): Promise<LostPrivilege[]> {
  const gone =
    'siteId' in place
      ? tx.deleteFrom('privilege').where('siteId', '=', place.siteId)
      : tx.deleteFrom('privilege').where('sitegroupId', '=', place.groupId)
  return tx
    .with('gone', () => gone.where('orgId', '=', scope.orgId).returning(['adminId', 'role']))
    .selectFrom('gone')
    .innerJoin('admin', 'admin.id', 'gone.adminId')
    .select(['gone.adminId', 'admin.email', 'gone.role'])
    .orderBy('admin.email')
    .execute()
}
