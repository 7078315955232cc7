import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import type { InviteDocument } from '../tables.ts'
import { lockOrg } from '../../orgs/store.ts'

/** A token, a role or an invitation: anything with privileges that is not an admin. `name` is its name for people. */
export interface GrantHolder {
  readonly id: string
  readonly name: string
  readonly privileges: readonly WirePrivilege[]
}

export interface Grants {
  readonly tokens: readonly GrantHolder[]
  readonly roles: readonly GrantHolder[]
  readonly invites: readonly (GrantHolder & { readonly doc: InviteDocument })[]
}

/**
 * Locks the organization and then everything in it that has privileges and is not an admin. Until `tx` ends nothing can
 * be granted in it.
 */
export async function lockGrants(tx: Tx, scope: InOrg): Promise<Grants> {
  await lockOrg(tx, scope)
  const { orgId } = scope
  const privileged = ['id', 'name', 'privileges'] as const
  const ofRoles = tx.selectFrom('ssoRole').select(privileged).where('orgId', '=', orgId)
  const ofTokens = tx.selectFrom('apiToken').select(privileged).where('orgId', '=', orgId)
  const ofInvites = tx.selectFrom('invite').select(['id', 'email', 'doc']).where('orgId', '=', orgId)
  const roles = await ofRoles.orderBy('id').forUpdate().execute()
  const tokens = await ofTokens.orderBy('id').forUpdate().execute()
  const invites = await ofInvites.orderBy('id').forUpdate().execute()
  return {
    roles,
    tokens: tokens.map(({ id, name, privileges }) => ({ id, name, privileges: privileges ?? [] })),
    invites: invites.map(({ id, email, doc }) => ({ id, name: email, doc, privileges: doc.privileges })),
  }
}

export interface PrivilegesLeft {
  readonly id: string
  readonly left: readonly WirePrivilege[]
}

/** The caller has locked the grants. */
export async function updateTokenPrivileges(tx: Tx, { orgId }: InOrg, { id, left }: PrivilegesLeft): Promise<void> {
  await tx
    .updateTable('apiToken')
    .set({ privileges: json(left) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteTokens(tx: Tx, { orgId }: InOrg, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('apiToken').where('orgId', '=', orgId).where('id', '=', anyOf(ids)).execute()
}

/** The caller has locked the grants. */
export async function updateRolePrivileges(
  tx: Tx,
  scope: InOrg,
  { id, left, at }: PrivilegesLeft & { readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('ssoRole')
    .set({ privileges: json(left), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

export async function updateInviteDocument(tx: Tx, scope: InOrg, id: string, doc: InviteDocument): Promise<void> {
  await tx
    .updateTable('invite')
    .set({ doc: documentText(doc) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteInvites(tx: Tx, scope: InOrg, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('invite').where('orgId', '=', scope.orgId).where('id', '=', anyOf(ids)).execute()
}

/** Lists the ids of all admins who have a privilege in the organization. */
export async function listMemberIds(tx: Tx, scope: InOrg): Promise<string[]> {
  const rows = await tx
    .selectFrom('privilege')
    .select('adminId')
    .distinct()
    .where('orgId', '=', scope.orgId)
    .orderBy('adminId')
    .execute()
  return rows.map(({ adminId }) => adminId)
}

/** Lists the names of those site groups that a privilege names: of an admin, a token, a role or an invitation. */
export async function listGroupsWithPrivileges(
  reader: Reader,
  { orgId }: InOrg,
  groupIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    with granted (privileges) as (
      select privileges from api_token where org_id = ${orgId}
      union all select privileges from sso_role where org_id = ${orgId}
      union all select doc -> 'privileges' from invite where org_id = ${orgId}
    ), named (group_id) as (
      select sitegroup_id from privilege where org_id = ${orgId}
      -- Clients write ids in any case, and documents keep it.
      union all select (one ->> 'sitegroup_id')::uuid from granted, jsonb_array_elements(privileges) one
    )
    select name from site_group
    where org_id = ${orgId} and id = ${anyOf(groupIds)} and id in (select group_id from named)
    order by name, id`.execute(reader)
  return rows.map(({ name }) => name)
}
