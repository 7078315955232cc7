import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows, json } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import type { SsoRoleTable } from '../tables.ts'

/** The privileges of people to whom an identity provider assigns the role of this name. */
export type SsoRole = Selectable<SsoRoleTable>

export async function listSsoRoles(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<SsoRole>> {
  const hits = reader.selectFrom('ssoRole').selectAll().where('orgId', '=', scope.orgId)
  return pageOf<SsoRole>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.privileges::text)`) }, page)
}

export function countSsoRoles(reader: Reader, scope: OrgScope): Promise<number> {
  return countRows(reader.selectFrom('ssoRole').where('orgId', '=', scope.orgId))
}

export async function getSsoRole(reader: Reader, scope: OrgScope, id: string): Promise<SsoRole> {
  const row = await selectSsoRole(reader, scope, id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Lock the organization first if `tx` locks it at all. */
export async function lockSsoRole(tx: Tx, scope: OrgScope, id: string): Promise<SsoRole> {
  const row = await selectSsoRole(tx, scope, id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

function selectSsoRole(reader: Reader, scope: OrgScope, id: string) {
  return reader.selectFrom('ssoRole').selectAll().where('orgId', '=', scope.orgId).where('id', '=', id)
}

/** Lists the privileges that each role of the organization gives, keyed by the role's name. */
export async function listPrivilegesByRole(
  reader: Reader,
  { orgId }: InOrg,
): Promise<ReadonlyMap<string, WirePrivilege[]>> {
  const rows = await reader.selectFrom('ssoRole').select(['name', 'privileges']).where('orgId', '=', orgId).execute()
  return new Map(rows.map(({ name, privileges }) => [name, privileges]))
}

/** Finds another role with this name. Needs the organization's lock, or two roles could get the same name. */
export async function findSsoRoleByName(
  reader: Reader,
  scope: OrgScope,
  { name, id }: { readonly name: string; readonly id: string },
): Promise<{ readonly id: string } | undefined> {
  return reader
    .selectFrom('ssoRole')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('name', '=', name)
    .where('id', '!=', id)
    .executeTakeFirst()
}

export async function insertSsoRole(tx: Tx, { orgId }: OrgScope, role: Omit<SsoRole, 'orgId'>): Promise<void> {
  await tx
    .insertInto('ssoRole')
    .values({ ...role, orgId, privileges: json(role.privileges) })
    .execute()
}

export async function updateSsoRoleRow(
  tx: Tx,
  { orgId }: OrgScope,
  { id, name, privileges, modifiedAt }: Omit<SsoRole, 'orgId' | 'createdAt'>,
): Promise<void> {
  await tx
    .updateTable('ssoRole')
    .set({ name, privileges: json(privileges), modifiedAt })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteSsoRoleRow(tx: Tx, { orgId }: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('ssoRole').where('orgId', '=', orgId).where('id', '=', id).execute()
}
