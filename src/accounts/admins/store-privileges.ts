import { uuidv7 } from 'uuidv7'
import { insertPrivilege } from '../../access/store-privileges.ts'
import { type Reader, type Tx, anyOf } from '../../platform/db.ts'
import type { WirePrivilege } from '../../access/tables.ts'

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
  const isKnown = await readerOfPlaces(tx, holder.orgId, privileges)
  const given = privileges.filter(isKnown)
  for (const { scope, role, site_id: siteId = null, sitegroup_id: sitegroupId = null, views = [] } of given)
    await insertPrivilege(tx, { ...holder, id: uuidv7(), scope, role, siteId, sitegroupId, views: [...views] })
  return given
}

/** Whether the organization has the site or the site group that a privilege names, if it names one. */
export async function readerOfPlaces(
  reader: Reader,
  orgId: string,
  privileges: readonly WirePrivilege[],
): Promise<(privilege: WirePrivilege) => boolean> {
  const siteIds = privileges.flatMap(({ site_id: siteId }) => siteId ?? [])
  const groupIds = privileges.flatMap(({ sitegroup_id: groupId }) => groupId ?? [])
  if (siteIds.length + groupIds.length === 0) return () => true
  const rows = await reader
    .selectFrom('site')
    .select('id')
    .where('orgId', '=', orgId)
    .where('id', '=', anyOf(siteIds))
    .unionAll(reader.selectFrom('siteGroup').select('id').where('orgId', '=', orgId).where('id', '=', anyOf(groupIds)))
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  return ({ site_id: siteId, sitegroup_id: groupId }) =>
    [siteId, groupId].every((id) => id === undefined || known.has(id.toLowerCase()))
}
