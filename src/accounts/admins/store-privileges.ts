import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg } from '../../access/scope.ts'
import { insertPrivilege } from '../../access/store-privileges.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import type { WirePrivilege } from '../../access/tables.ts'

/**
 * Lists the privileges of an admin, or of a token of the organization, in it.
 *
 * @returns An empty list if there is no such admin or token.
 */
export async function listPrivilegesOf(reader: Reader, { orgId }: InOrg, holderId: string): Promise<WirePrivilege[]> {
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
  readonly views: readonly string[] | null
}

export function wirePrivilege({ scope, role, siteId, sitegroupId, views }: PrivilegeRow): WirePrivilege {
  return {
    scope,
    role,
    ...(siteId !== null && { site_id: siteId }),
    ...(sitegroupId !== null && { sitegroup_id: sitegroupId }),
    ...(views !== null && { views }),
  }
}

/**
 * Inserts the privileges of an admin, in this order.
 *
 * @returns The inserted ones: privileges for a site or a site group that was deleted concurrently are left out.
 */
export async function insertPrivileges(
  tx: Tx,
  scope: InOrg,
  { adminId, privileges }: { readonly adminId: string; readonly privileges: readonly WirePrivilege[] },
): Promise<WirePrivilege[]> {
  const isKnown = await findPlaces(tx, scope, privileges)
  const given = privileges.filter(isKnown)
  for (const { site_id: siteId = null, sitegroup_id: sitegroupId = null, views = null, ...granted } of given)
    await insertPrivilege(tx, scope, {
      ...granted,
      id: uuidv7(),
      adminId,
      siteId,
      sitegroupId,
      views: views && [...views],
    })
  return given
}

/**
 * Finds the sites and the site groups that the privileges name.
 *
 * @returns A predicate: true if the organization has the place of a privilege, which may be the whole organization.
 */
export async function findPlaces(
  reader: Reader,
  { orgId }: InOrg,
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
