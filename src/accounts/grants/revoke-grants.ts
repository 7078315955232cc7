import { deletePrivilegesAt } from '../../access/store-privileges.ts'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { recordLoss } from './record-loss.ts'
import { type Place, planRevocation } from './plan-revocation.ts'
import {
  type Grants,
  deleteInvites,
  deleteTokens,
  updateInviteDocument,
  updateRolePrivileges,
  updateTokenPrivileges,
} from './store.ts'

export interface Revocation {
  readonly place: Place
  /** The message in the logs of the accounts that lose privileges. */
  readonly message: string
  readonly at: Date
}

/**
 * Revokes every privilege in a place that is deleted. Otherwise a privilege would name a place that no longer exists,
 * and a later site that names the same group would be open to the holders of the old one. Tokens and invitations
 * without remaining privileges are deleted. Roles stay, without privileges: a person whose role is unknown may get the
 * default role, which may allow more.
 *
 * @param grants As lockGrants() returned them.
 * @returns The holders that lost privileges, for the audit log; empty if there are none.
 */
export async function revokeGrants(
  tx: Tx,
  scope: InOrg,
  { place, message, at, grants }: Revocation & { readonly grants: Grants },
): Promise<Record<string, unknown>> {
  const tokens = planRevocation(grants.tokens, place)
  const invites = planRevocation(grants.invites, place)
  const roles = planRevocation(grants.roles, place)
  const empty = (change: { readonly left: readonly unknown[] }): boolean => change.left.length === 0
  for (const { holder, left } of tokens)
    if (left.length > 0) await updateTokenPrivileges(tx, scope, { id: holder.id, left })
  await deleteTokens(
    tx,
    scope,
    tokens.filter(empty).map(({ holder }) => holder.id),
  )
  for (const { holder, left } of invites)
    if (left.length > 0) await updateInviteDocument(tx, scope, holder.id, { ...holder.doc, privileges: left })
  await deleteInvites(
    tx,
    scope,
    invites.filter(empty).map(({ holder }) => holder.id),
  )
  for (const { holder, left } of roles) await updateRolePrivileges(tx, scope, { id: holder.id, left, at })
  const admins = await deletePrivilegesAt(tx, scope, place)
  await recordLoss(tx, scope, { adminIds: [...new Set(admins.map(({ adminId }) => adminId))], message, at })
  return {
    ...(admins.length > 0 && { admins: admins.map(({ email, role }) => ({ email, role })) }),
    ...(tokens.length > 0 && { apitokens: tokens.map(({ holder }) => holder.name) }),
    ...(invites.length > 0 && { invites: invites.map(({ holder }) => holder.name) }),
    ...(roles.length > 0 && { ssoroles: roles.map(({ holder }) => holder.name) }),
  }
}
