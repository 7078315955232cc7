import { equalText } from '../../platform/secrets.ts'
import type { AccountSettings } from '../parts.ts'

/**
 * Decides whether a person may register.
 *
 * @param input.inviteCode As sent; it counts only if registration is by `invite`.
 * @param input.isInvited True if an invitation was mailed to the address and its token was sent.
 */
export function decideAdmission(
  { registration, inviteCodes }: Pick<AccountSettings, 'registration' | 'inviteCodes'>,
  { inviteCode, isInvited }: { readonly inviteCode: string | null; readonly isInvited: boolean },
): 'admitted' | 'closed' | 'not_invited' {
  // An invitation always admits: the administrators of an organization know whom they invite.
  if (isInvited) return 'admitted'
  switch (registration) {
    case 'open':
      return 'admitted'
    case 'closed':
      return 'closed'
    case 'invite': {
      const knowsCode = inviteCode !== null && inviteCodes.some((code) => equalText(code, inviteCode))
      return knowsCode ? 'admitted' : 'not_invited'
    }
  }
}
