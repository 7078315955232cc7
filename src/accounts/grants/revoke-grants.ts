import { deletePrivilegesAt } from '../../access/store-privileges.ts'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/db.ts'
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
  /** For the accounts of those who lose something. */
  readonly message: string
  readonly at: Date
}

/**
 * Takes away every privilege of a place that goes, so that none is left that names nothing: a later
 * site that names the same group must not be open to those who had the old one. Tokens and invitations
 * that are left with nothing go too. Roles stay, empty: somebody whose role is unknown may be given
 * the default role, which may be more than they had.
 *
 * @param grants As lockGrants() found them.
 * @returns Who lost something, for the audit log; empty where nobody did.
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
