import { equalText } from '../../platform/secrets.ts'
import type { AccountSettings } from '../parts.ts'

/**
 * Whether somebody may register.
 *
 * @param input.inviteCode As sent; looked at only where registration is by invitation.
 * @param input.isInvited An invitation was mailed to the address, and its token was sent.
 */
export function decideAdmission(
  { registration, inviteCodes }: Pick<AccountSettings, 'registration' | 'inviteCodes'>,
  { inviteCode, isInvited }: { readonly inviteCode: string | null; readonly isInvited: boolean },
): 'admitted' | 'closed' | 'not_invited' {
  switch (registration) {
    case 'open':
      return 'admitted'
    case 'closed':
      return 'closed'
    case 'invite': {
      const knowsCode = inviteCode !== null && inviteCodes.some((code) => equalText(code, inviteCode))
      return isInvited || knowsCode ? 'admitted' : 'not_invited'
    }
  }
}
