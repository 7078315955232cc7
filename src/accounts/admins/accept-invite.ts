import { actorOf } from '../../access/authorize.ts'
import { type Actor, actorScope, systemScope } from '../../access/scope.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { sha256 } from '../../platform/secrets.ts'
import type { Person } from '../self/person.ts'
import { type InviteOutcome, decideInvite } from './decide-invite.ts'
import { recordPrivileges } from './record-privileges.ts'
import { deleteInviteRow, findOrgOfInvite, lockInviteByToken } from './store-invites.ts'
import { insertPrivileges, listPrivilegesOf } from './store-privileges.ts'

export const NO_ADDRESS = 'Only an account with a verified address of its own can accept an invitation'

/**
 * Accepts the invitation with the token for the caller's account.
 *
 * @throws AppError not_found; forbidden if the account has another address, or one that an identity provider has
 *   named, because nobody has verified that; invalid if the invitation can no longer be accepted.
 */
export async function acceptOwnInvite(ctx: Context, caller: Person, token: string): Promise<void> {
  const { adminId, email, ssoId } = caller.principal
  if (ssoId !== null) throw new AppError('forbidden', NO_ADDRESS)
  const outcome = await inTx(ctx, (tx) =>
    acceptInvite(ctx, tx, {
      inviteTokenHash: sha256(token),
      admin: { id: adminId, email },
      actor: actorOf(caller),
    }),
  )
  switch (outcome) {
    case 'applied':
      return
    case 'unknown':
      throw new AppError('not_found', 'Not found.')
    case 'other_address':
      throw new AppError('forbidden', 'The invitation is for another e-mail address')
    case 'expired':
      throw new AppError('invalid', 'expired')
    case 'already_admin':
      throw new AppError('invalid', 'You already are an admin of the organization')
    case 'exceeds_inviter':
      throw new AppError('invalid', 'The person who invited you may no longer grant these privileges')
  }
}

export interface InviteClaim {
  /** SHA-256 of the token in the mailed link. */
  readonly inviteTokenHash: Buffer
  /** The account that accepts. Its address must have been verified, because the invitation is for an address. */
  readonly admin: { readonly id: string; readonly email: string }
  readonly actor: Actor
}

/**
 * Accepts an invitation in the caller's transaction. One that can't be accepted changes nothing.
 *
 * @returns `unknown` if no invitation has the token.
 */
export async function acceptInvite(ctx: Context, tx: Tx, claim: InviteClaim): Promise<InviteOutcome | 'unknown'> {
  const { inviteTokenHash, admin, actor } = claim
  const now = ctx.clock.now()
  // Between the check and the change, nobody may demote the inviter or make the admin a member in another way.
  const orgId = await lockOrgOfInvite(tx, inviteTokenHash)
  if (orgId === undefined) return 'unknown'
  const scope = actorScope(actor, orgId)
  const invite = await lockInviteByToken(tx, scope, inviteTokenHash)
  if (invite === undefined) return 'unknown'
  const { invitedBy, doc } = invite
  const outcome = decideInvite({
    invite,
    email: admin.email.toLowerCase(),
    inviter: invitedBy === null ? [] : await listPrivilegesOf(tx, scope, invitedBy),
    isMember: (await listPrivilegesOf(tx, scope, admin.id)).length > 0,
    now,
  })
  if (outcome !== 'applied') return outcome
  const after = await insertPrivileges(tx, scope, { adminId: admin.id, privileges: doc.privileges })
  await deleteInviteRow(tx, scope, invite.id)
  const message = `Accept Invite of "${admin.email}"`
  await recordPrivileges(tx, scope, { adminId: admin.id, message, before: [], after, at: now })
  return 'applied'
}

/**
 * Locks the organization of the invitation, and returns its id; undefined if no invitation has the token. Lock no account
 * and no address before it: those who invite lock the organization first.
 *
 * @param tokenHash SHA-256 of the token in the mailed link.
 */
export async function lockOrgOfInvite(tx: Tx, tokenHash: Buffer): Promise<string | undefined> {
  const orgId = await findOrgOfInvite(tx, tokenHash)
  if (orgId !== undefined) await lockOrg(tx, systemScope('accounts', orgId))
  return orgId
}
