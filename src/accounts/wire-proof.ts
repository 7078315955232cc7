import { Type } from 'typebox'

/** Of a link that was mailed: it proves that the address is the caller's. */
export const MailedToken = Type.String({ maxLength: 200 })

/** The caller's own password, in the body of what needs a recent proof. */
export const PasswordProof = Type.String({
  maxLength: 1024,
  format: 'password',
  description: 'of the caller; needed without a sign-in or second factor in the last 15 minutes, or HTTP Basic',
})
