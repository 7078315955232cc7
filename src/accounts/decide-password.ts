import { MIN_PASSWORD_LENGTH, isCommonPassword } from './common-passwords.ts'

/** What the organizations of an admin ask of passwords, the strictest of them. */
export interface PasswordRules {
  readonly minLength: number
  readonly requiresSpecialChar: boolean
}

/** For somebody who is in no organization yet. */
export const defaultPasswordRules: PasswordRules = { minLength: MIN_PASSWORD_LENGTH, requiresSpecialChar: false }

/** Longer ones would only make hashing slow. Characters, after normalization. */
export const MAX_PASSWORD_LENGTH = 128

/**
 * Why a new password can't be taken, for the person who chose it; null where it can.
 * Compatibility forms of a character count as one (NFKC), as in the hash.
 *
 * @param email Of the account, in lower case.
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
