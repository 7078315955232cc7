import { createRequire } from 'node:module'
import type * as lists from '@zxcvbn-ts/language-common'

/** Length below which no password is accepted anyway. */
export const MIN_PASSWORD_LENGTH = 8

const require = createRequire(import.meta.url)

/** Whether attackers try it first, in whatever case. */
export function isCommonPassword(password: string): boolean {
  // Loaded for the first new password: most processes never see one, and the list takes two megabytes.
  const { dictionary } = require('@zxcvbn-ts/language-common') as typeof lists
  return dictionary['passwords-common'].includes(password.toLowerCase())
}
