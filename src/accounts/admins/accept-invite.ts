import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { sha256 } from '../../platform/secrets.ts'
import type { Person } from '../self/person.ts'
import { acceptInvite } from './apply-invite.ts'

export const NO_ADDRESS = 'Only an account with a verified address of its own can accept an invitation.'

/**
 * Accepts the invitation with the token for the caller's account.
 *
 * @throws AppError not_found; forbidden for an account of another address, and for one whose address
 *   an identity provider has named, because nobody has verified it; invalid where it can't be accepted any more.
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
      throw new AppError('forbidden', 'The invitation is for another e-mail address.')
    case 'expired':
      throw new AppError('invalid', 'expired')
    case 'already_admin':
      throw new AppError('invalid', 'You are an admin of the organization already.')
    case 'exceeds_inviter':
      throw new AppError('invalid', 'Whoever invited you may no longer give these privileges.')
  }
}
