import type { Mail } from '../../platform/mail.ts'
import { composeMail } from '../compose-mail.ts'

export function passwordChangedMail(to: string): Mail {
  return composeMail({
    to,
    subject: 'Your password was changed',
    paragraphs: [
      'The password of your Signalbox account was changed, and all other sessions were ended.',
      'If it was not you, ask for a new password at once: somebody else can sign in as you.',
    ],
  })
}
