import { dictionary } from '@zxcvbn-ts/language-common'

/** Length below which no password is accepted anyway. */
export const MIN_PASSWORD_LENGTH = 8

/** The list is ordered by frequency, lower case; the short ones need no second check. */
const common: ReadonlySet<string> = new Set(
  dictionary['passwords-common'].map(String).filter((password) => password.length >= MIN_PASSWORD_LENGTH),
)

/** Whether attackers try it first, in whatever case. */
export function isCommonPassword(password: string): boolean {
  return common.has(password.toLowerCase())
}
