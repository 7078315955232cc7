import { Type } from 'typebox'

/** The token of a mailed link, which proves that the caller receives mail at the address. */
export const MailedToken = Type.String({ maxLength: 200 })

/** The caller's own password, in the body of operations that need a recent proof. */
export const PasswordProof = Type.String({
  maxLength: 1024,
  format: 'password',
  description: 'of the caller; needed without a sign-in or second factor in the last 15 minutes, or HTTP Basic',
})
