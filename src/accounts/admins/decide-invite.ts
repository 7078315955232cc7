import type { WirePrivilege } from '../../access/tables.ts'
import type { Invite } from '../tables.ts'
import { mayGrant } from './decide-grant.ts'

export interface Acceptance {
  readonly invite: Invite
  /** Verified address of who accepts, in lower case. */
  readonly email: string
  /** What the inviter may do in the organization at this moment. */
  readonly inviter: readonly WirePrivilege[]
  /** Who accepts has a privilege in the organization already. */
  readonly isMember: boolean
  readonly now: Date
}

export type InviteOutcome = 'applied' | 'expired' | 'other_address' | 'exceeds_inviter' | 'already_admin'

/**
 * An invitation belongs to an address, not to whoever holds the link; and it gives no more than its
 * inviter could give now, so that somebody who was demoted or left leaves no back door.
 */
export function decideInvite({ invite, email, inviter, isMember, now }: Acceptance): InviteOutcome {
  if (invite.email !== email) return 'other_address'
  if (invite.expiresAt <= now) return 'expired'
  if (isMember) return 'already_admin'
  return mayGrant(inviter, invite.doc.privileges) ? 'applied' : 'exceeds_inviter'
}
