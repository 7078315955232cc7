import type { CheckPassword } from '../access/authentication/check-password.ts'
import type { LoginThrottle } from '../access/authentication/login-throttle.ts'
import type { Passwords } from '../access/authentication/password.ts'
import type { HourlyLimits, RequestLimits } from '../access/request-limits.ts'
import type { TokenUses } from '../access/authentication/token-uses.ts'
import type { Mailer } from '../platform/outbound/mail.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'

/** The operator's settings for accounts, from the environment; see app/config/config-accounts.ts. */
export interface AccountSettings extends HourlyLimits {
  /**
   * `invite` admits people with an invite code or the token of an invitation, `closed` only those with such a token.
   */
  readonly registration: 'open' | 'invite' | 'closed'
  readonly inviteCodes: readonly string[]
  /** The default of `no_tracking`. */
  readonly gdpr: boolean
  /** Null if no CAPTCHA is required. */
  readonly captcha: CaptchaSettings | null
  /** Origins besides our own to which `forward` and `return_to` may redirect, such as `https://portal.example.com`. */
  readonly trustedOrigins: readonly string[]
  /** True if the server listens on loopback only: then redirects may lead to loopback too. */
  readonly trustLoopback: boolean
  readonly oauthProviders: readonly OauthProvider[]
  /** The id of the SSO through which people of a mail domain sign in, by domain. */
  readonly ssoDomains: ReadonlyMap<string, string>
}

export interface CaptchaSettings {
  readonly flavor: 'google' | 'hcaptcha'
  readonly siteKey: string
  readonly secret: string
  readonly verifyUrl: string
}

export interface OauthProvider {
  /** As in paths: `google`, `azure`, `github`, or a name that the operator chose. */
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
  /** The issuer for OpenID discovery; for GitHub the URL of its server. */
  readonly issuer: string
  /** Accepts the provider's own codes, which some scripts have, outside our flow. */
  readonly acceptRawCodes: boolean
}

/** The dependencies of operations on accounts besides the context. Built once, in app/. */
export interface AccountParts {
  readonly passwords: Passwords
  readonly tokenUses: TokenUses
  readonly requestLimits: RequestLimits
  readonly mailer: Mailer
  /** Refuses private addresses: for URLs that users choose. */
  readonly outbound: OutboundHttp
  /** For URLs from the operator's settings, which may be private addresses. */
  readonly operatorHttp: OutboundHttp
  readonly settings: AccountSettings
}

/** Protects passwords against guessing. There is one for the whole server. */
export interface LoginGuard {
  readonly throttle: LoginThrottle
  readonly checkPassword: CheckPassword
}
