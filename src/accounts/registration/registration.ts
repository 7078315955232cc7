import type { RegistrationDocument } from '../tables.ts'

/** The request of a person who registers. */
export interface Registration {
  /** In lower case. */
  readonly email: string
  readonly password: string
  readonly captcha: CaptchaAnswer
  readonly inviteCode: string | null
  /** The token of a mailed invitation, which is applied once the account exists. */
  readonly inviteToken: string | null
  readonly document: RegistrationDocument
}

export interface CaptchaAnswer {
  /** The response of the CAPTCHA's script in the browser; null if none was sent. */
  readonly response: string | null
  readonly flavor: CaptchaFlavor
}

export type CaptchaFlavor = 'google' | 'hcaptcha'

/** How long the mailed link works. */
export const VERIFY_WITHIN_MS = 24 * 3600e3
