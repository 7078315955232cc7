import type { WirePrivilege } from '../../access/tables.ts'
import type { Invite } from '../tables.ts'
import { mayGrant } from './decide-grant.ts'

export interface Acceptance {
  readonly invite: Invite
  /** The verified address of the account that accepts, in lower case. */
  readonly email: string
  /** The inviter's current privileges in the organization. */
  readonly inviter: readonly WirePrivilege[]
  /** True if the account that accepts already has a privilege in the organization. */
  readonly isMember: boolean
  readonly now: Date
}

export type InviteOutcome = 'applied' | 'expired' | 'other_address' | 'exceeds_inviter' | 'already_admin'

/**
 * Decides whether an invitation can be accepted. It belongs to an address, not to the holder of the link, and it grants
 * no more than its inviter could grant now, so that an inviter who was demoted or left keeps no back door.
 */
export function decideInvite({ invite, email, inviter, isMember, now }: Acceptance): InviteOutcome {
  if (invite.email !== email) return 'other_address'
  if (invite.expiresAt <= now) return 'expired'
  if (isMember) return 'already_admin'
  return mayGrant(inviter, invite.doc.privileges) ? 'applied' : 'exceeds_inviter'
}
