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

/** Kept in wire shape until the address has been verified. */
export interface RegistrationDocument {
  readonly first_name: string
  readonly last_name: string
  readonly org_name: string
  readonly account_only: boolean
  readonly allow_mist?: boolean
  readonly no_tracking?: boolean
  /** Where to lead the browser in the end. */
  readonly return_to?: string
  /** Address of the person: `city`, `street_address 2` and so on. */
  readonly profile: Readonly<Record<string, string>>
  /** Hex of the SHA-256 of an invitation's token. */
  readonly invite_token_hash?: string
  /** Why the invitation's organization does not take the password, which only the registration knows. */
  readonly unfit_for_invite?: UnfitPassword
}

export interface UnfitPassword {
  /** As the end of a sentence that starts with the password. */
  readonly reason: string
  readonly min_length: number
}

/** For how long the mailed link works. */
export const VERIFY_WITHIN_MS = 24 * 3600e3
