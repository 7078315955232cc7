import { type Caller, actorOf } from '../../access/authorize.ts'
import { type OrgScope, actorScope } from '../../access/scope.ts'
import type { Person } from '../self/person.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { assertGrantable } from './assert-grantable.ts'
import { recordPrivileges } from './record-privileges.ts'
import { type OrgAdmin, countFullAdmins, getOrgAdmin } from './store-admins.ts'
import { deletePrivileges } from '../../access/store-privileges.ts'
import { type RevokedToken, revokeTokensOf } from '../tokens/org-tokens.ts'
import { insertPrivileges } from './store-privileges.ts'

export interface AdminChange {
  readonly adminId: string
  readonly caller: Caller
  readonly privileges: readonly WirePrivilege[]
}

/** Replaces the privileges of an admin in the organization. The rest of the account is up to its owner. */
export async function updateAdmin(ctx: Context, scope: OrgScope, change: AdminChange): Promise<OrgAdmin> {
  const { adminId, caller, privileges } = change
  const at = ctx.clock.now()
  return inTx(ctx, (tx) =>
    requireRemainingAdmin(tx, scope, async () => {
      const before = await getOrgAdmin(tx, scope, adminId)
      if (before.viaSso)
        throw new AppError('invalid', 'The identity provider decides what this admin may do; change its roles')
      await assertGrantable(tx, scope, { caller, privileges })
      await deletePrivileges(tx, scope, adminId)
      const after = await insertPrivileges(tx, scope, { adminId, privileges })
      const message = `Update Admin "${before.email}"`
      await recordPrivileges(tx, scope, { adminId, message, before: before.privileges, after, at })
      return getOrgAdmin(tx, scope, adminId)
    }),
  )
}

/**
 * Revokes all privileges of an admin in the organization, and with them those of the admin's own tokens. Also deletes
 * the tokens of the organization that the admin created, unless the caller keeps them.
 *
 * @returns The revoked tokens of the organization.
 */
export async function revokeAdmin(
  ctx: Context,
  scope: OrgScope,
  { adminId, keepsTokens }: { readonly adminId: string; readonly keepsTokens: boolean },
): Promise<RevokedToken[]> {
  const at = ctx.clock.now()
  return inTx(ctx, (tx) =>
    requireRemainingAdmin(tx, scope, async () => {
      const { email, privileges } = await getOrgAdmin(tx, scope, adminId)
      await deletePrivileges(tx, scope, adminId)
      const message = `Revoke Admin "${email}"`
      await recordPrivileges(tx, scope, { adminId, message, before: privileges, after: [], at })
      return keepsTokens ? [] : revokeTokensOf(tx, scope, { adminId, at })
    }),
  )
}

/**
 * Revokes the privileges of an admin who leaves the organization. Nobody can prevent that.
 *
 * @throws AppError not_found without a privilege in it; invalid for the last admin, and for an account that the
 *   organization's identity provider manages.
 */
export async function leaveOrg(ctx: Context, caller: Person, orgId: string): Promise<void> {
  const { adminId, principal } = caller
  if (principal.ssoId !== null)
    throw new AppError('invalid', 'The identity provider decides what this account may do; delete the account instead')
  const scope = actorScope(actorOf(caller), orgId)
  const at = ctx.clock.now()
  await inTx(ctx, (tx) =>
    requireRemainingAdmin(tx, scope, async () => {
      const { email, privileges } = await getOrgAdmin(tx, scope, adminId)
      await deletePrivileges(tx, scope, adminId)
      const message = `Admin "${email}" leaves the organization`
      await recordPrivileges(tx, scope, { adminId, message, before: privileges, after: [], at })
      await revokeTokensOf(tx, scope, { adminId, at })
    }),
  )
}

/**
 * Runs a change that may revoke privileges. Such changes run one at a time in each organization.
 *
 * @throws AppError invalid if nobody would administer the whole organization afterwards. People whom an identity
 *   provider vouches for don't count: its failure must not lock everyone out.
 */
async function requireRemainingAdmin<T>(tx: Tx, scope: OrgScope, change: () => Promise<T>): Promise<T> {
  await lockOrg(tx, scope)
  const before = await countFullAdmins(tx, scope)
  const result = await change()
  if (before > 0 && (await countFullAdmins(tx, scope)) === 0)
    throw new AppError('invalid', 'The organization would be left without an admin')
  return result
}
