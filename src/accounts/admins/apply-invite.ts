import { type Actor, actorScope } from '../../access/scope.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { type InviteOutcome, decideInvite } from './decide-invite.ts'
import { recordPrivileges } from './record-privileges.ts'
import { deleteInvite, lockInviteByToken } from './store-invites.ts'
import { insertPrivileges, listPrivilegesOf } from './store-privileges.ts'

export interface InviteClaim {
  /** SHA-256 of the token in the mailed link. */
  readonly inviteTokenHash: Buffer
  /** Who accepts. The address must have been verified: the invitation was made for an address. */
  readonly admin: { readonly id: string; readonly email: string }
  readonly actor: Actor
}

/** Accepts an invitation in the caller's transaction; one that can't be accepted changes nothing. */
export async function applyInvite(ctx: Context, tx: Tx, claim: InviteClaim): Promise<'applied' | 'not_applied'> {
  return (await acceptInvite(ctx, tx, claim)) === 'applied' ? 'applied' : 'not_applied'
}

/** As applyInvite, and says why not; `unknown`: no invitation has the token. */
export async function acceptInvite(ctx: Context, tx: Tx, claim: InviteClaim): Promise<InviteOutcome | 'unknown'> {
  const { inviteTokenHash, admin, actor } = claim
  const now = ctx.clock.now()
  const invite = await lockInviteByToken(tx, inviteTokenHash)
  if (invite === undefined) return 'unknown'
  const { invitedBy, doc } = invite
  const scope = actorScope(actor, invite.orgId)
  // So that the inviter is not demoted, nor the admin let in otherwise, between the check and the change.
  await lockOrg(tx, scope)
  const outcome = decideInvite({
    invite,
    email: admin.email.toLowerCase(),
    inviter: invitedBy === null ? [] : await listPrivilegesOf(tx, scope, invitedBy),
    isMember: (await listPrivilegesOf(tx, scope, admin.id)).length > 0,
    now,
  })
  if (outcome !== 'applied') return outcome
  const after = await insertPrivileges(tx, scope, { adminId: admin.id, privileges: doc.privileges })
  await deleteInvite(tx, scope, invite.id)
  const message = `Accept Invite of "${admin.email}"`
  await recordPrivileges(tx, scope, { adminId: admin.id, message, before: [], after, at: now })
  return 'applied'
}
