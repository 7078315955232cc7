import { uuidv7 } from 'uuidv7'
import { insertPrivilege } from '../../access/store.ts'
import { type Reader, type Tx, anyOf } from '../../platform/db.ts'
import type { WirePrivilege } from '../../platform/schema/accounts.ts'

/** What an admin, or a token of the organization, may do in it. Empty for one that is gone. */
export async function listPrivilegesOf(reader: Reader, orgId: string, holderId: string): Promise<WirePrivilege[]> {
  const rows = await reader
    .selectFrom('privilege')
    .select(['scope', 'role', 'siteId', 'sitegroupId', 'views'])
    .where('orgId', '=', orgId)
    .where('adminId', '=', holderId)
    .orderBy('id')
    .execute()
  if (rows.length > 0) return rows.map(wirePrivilege)
  const token = await reader
    .selectFrom('apiToken')
    .select('privileges')
    .where('orgId', '=', orgId)
    .where('id', '=', holderId)
    .executeTakeFirst()
  return token?.privileges ?? []
}

export interface PrivilegeRow {
  readonly scope: WirePrivilege['scope']
  readonly role: WirePrivilege['role']
  readonly siteId: string | null
  readonly sitegroupId: string | null
  readonly views: readonly string[]
}

export function wirePrivilege({ scope, role, siteId, sitegroupId, views }: PrivilegeRow): WirePrivilege {
  return {
    scope,
    role,
    ...(siteId !== null && { site_id: siteId }),
    ...(sitegroupId !== null && { sitegroup_id: sitegroupId }),
    ...(views.length > 0 && { views }),
  }
}

/** Gives the privileges in this order, and answers them; those of sites that are gone meanwhile are left out. */
export async function insertPrivileges(
  tx: Tx,
  holder: { readonly orgId: string; readonly adminId: string },
  privileges: readonly WirePrivilege[],
): Promise<WirePrivilege[]> {
  const sites = await listKnownSites(tx, holder.orgId, privileges)
  const given = privileges.filter(({ site_id: siteId }) => siteId === undefined || sites.has(siteId))
  for (const { scope, role, site_id: siteId = null, sitegroup_id: sitegroupId = null, views = [] } of given)
    await insertPrivilege(tx, { ...holder, id: uuidv7(), scope, role, siteId, sitegroupId, views: [...views] })
  return given
}

/** Ids of those sites of `privileges` that the organization has. */
export async function listKnownSites(
  reader: Reader,
  orgId: string,
  privileges: readonly WirePrivilege[],
): Promise<ReadonlySet<string>> {
  const siteIds = privileges.flatMap(({ site_id: siteId }) => siteId ?? [])
  if (siteIds.length === 0) return new Set()
  const rows = await reader
    .selectFrom('site')
    .select('id')
    .where('orgId', '=', orgId)
    .where('id', '=', anyOf(siteIds))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export async function deletePrivileges(tx: Tx, orgId: string, adminId: string): Promise<void> {
  await tx.deleteFrom('privilege').where('orgId', '=', orgId).where('adminId', '=', adminId).execute()
}
