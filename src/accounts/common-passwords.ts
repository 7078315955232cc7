import { createRequire } from 'node:module'
import type * as lists from '@zxcvbn-ts/language-common'

/** Shorter passwords are refused everywhere. */
export const MIN_PASSWORD_LENGTH = 8

const require = createRequire(import.meta.url)

/** True if the password is among those that attackers try first, in upper or lower case. */
export function isCommonPassword(password: string): boolean {
  // Loaded on first use: most processes never check a new password, and the list takes two megabytes.
  const { dictionary } = require('@zxcvbn-ts/language-common') as typeof lists
  return dictionary['passwords-common'].includes(password.toLowerCase())
}
