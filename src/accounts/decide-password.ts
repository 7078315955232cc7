import { MIN_PASSWORD_LENGTH, isCommonPassword } from './common-passwords.ts'

/** The strictest of the password rules of an admin's organizations. */
export interface PasswordRules {
  readonly minLength: number
  readonly requiresSpecialChar: boolean
}

/** The rules for a person who belongs to no organization yet. */
export const defaultPasswordRules: PasswordRules = { minLength: MIN_PASSWORD_LENGTH, requiresSpecialChar: false }

/** In characters, after normalization. Longer passwords would only make hashing slow. */
const MAX_PASSWORD_LENGTH = 128

/**
 * Decides whether a new password is acceptable. Compatibility forms of a character count as one character (NFKC), as in
 * the hash.
 *
 * @param email The address of the account, in lower case.
 * @returns Why it is not acceptable, for the person who chose it; null if it is.
 */
export function decidePassword(password: string, email: string, rules: PasswordRules): string | null {
  const text = password.normalize('NFKC')
  const length = Array.from(text).length
  const minLength = Math.max(rules.minLength, MIN_PASSWORD_LENGTH)
  if (length < minLength) return `must have at least ${minLength} characters`
  if (length > MAX_PASSWORD_LENGTH) return `must have at most ${MAX_PASSWORD_LENGTH} characters`
  const lower = text.toLowerCase()
  if (lower === email || lower === email.split('@', 1)[0]) return 'must not be the e-mail address'
  if (isCommonPassword(text)) return 'is one of the most common passwords'
  if (rules.requiresSpecialChar && !/[^\p{L}\p{N}\s]/u.test(text)) return 'must have a special character'
  return null
}
