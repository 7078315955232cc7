import type { CheckPassword } from '../access/check-password.ts'
import type { LoginThrottle } from '../access/login-throttle.ts'
import type { Passwords } from '../access/password.ts'
import type { RequestLimits } from '../access/request-limits.ts'
import type { TokenUses } from '../access/token-uses.ts'
import type { Mailer } from '../platform/mail.ts'
import type { OutboundHttp } from '../platform/outbound-http.ts'

/** What the operator decides about accounts; from the environment, see app/config-accounts.ts. */
export interface AccountSettings {
  /** `invite`: only with an invite code, or the token of an invitation; `closed`: with that token only. */
  readonly registration: 'open' | 'invite' | 'closed'
  readonly inviteCodes: readonly string[]
  /** `no_tracking` of an account that does not say. */
  readonly gdpr: boolean
  /** Null: no CAPTCHA is required. */
  readonly captcha: CaptchaSettings | null
  /** Origins besides our own to which `forward` and `return_to` may lead, like `https://portal.example.com`. */
  readonly trustedOrigins: readonly string[]
  /** The server listens on loopback only, so addresses on loopback may be led to as well. */
  readonly trustLoopback: boolean
  readonly oauthProviders: readonly OauthProvider[]
  /** Id of the SSO by which people with addresses of a mail domain sign in. */
  readonly ssoDomains: ReadonlyMap<string, string>
  /** API calls a token may make in an hour. */
  readonly requestsPerHour: number
}

export interface CaptchaSettings {
  readonly flavor: 'google' | 'hcaptcha'
  readonly siteKey: string
  readonly secret: string
  readonly verifyUrl: string
}

export interface OauthProvider {
  /** As in the path: `google`, `azure`, `github`, or a name of the operator's. */
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
  /** Of OpenID discovery; for github the address of its server. */
  readonly issuer: string
  /** Takes the provider's own codes, which some scripts have, without our flow. */
  readonly acceptRawCodes: boolean
}

/** Built once in app/; what operations on accounts need besides the context. */
export interface AccountParts {
  readonly passwords: Passwords
  readonly tokenUses: TokenUses
  readonly requestLimits: RequestLimits
  readonly mailer: Mailer
  /** Calls no private addresses: for addresses that users choose. */
  readonly outbound: OutboundHttp
  /** For addresses that the operator has configured, which may well be private. */
  readonly operatorHttp: OutboundHttp
  readonly settings: AccountSettings
}

/** What stands between a password and whoever guesses at it; one for the whole server. */
export interface LoginGuard {
  readonly throttle: LoginThrottle
  readonly checkPassword: CheckPassword
}
