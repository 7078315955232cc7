import type { RegistrationDocument } from '../tables.ts'

/** What somebody who registers asks for. */
export interface Registration {
  /** In lower case. */
  readonly email: string
  readonly password: string
  readonly captcha: CaptchaAnswer
  readonly inviteCode: string | null
  /** The token of a mailed invitation, applied once the account is there. */
  readonly inviteToken: string | null
  readonly document: RegistrationDocument
}

export interface CaptchaAnswer {
  /** What the CAPTCHA's script in the browser gave; null where nothing was sent. */
  readonly response: string | null
  readonly flavor: CaptchaFlavor
}

export type CaptchaFlavor = 'google' | 'hcaptcha'

/** For how long the mailed link works. */
export const VERIFY_WITHIN_MS = 24 * 3600e3
