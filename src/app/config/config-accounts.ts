import { Type } from 'typebox'
import type { AccountSettings, CaptchaSettings, OauthProvider } from '../../accounts/parts.ts'
import { AppError } from '../../platform/errors.ts'
import { isLoopbackUrl } from '../../platform/outbound/loopback.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))

/** Settings of accounts; part of the environment of config.ts. */
export const accountEnvironment = {
  SIGNALBOX_REGISTRATION: Type.Optional(
    Type.Enum(['open', 'invite', 'closed'], { description: 'who may register; default open' }),
  ),
  SIGNALBOX_INVITE_CODES: text('codes that let somebody register where it is by invitation, separated by commas'),
  SIGNALBOX_GDPR: Type.Optional(Type.Boolean({ description: 'true: accounts without a choice are not tracked' })),
  SIGNALBOX_TRUSTED_ORIGINS: text('origins that sign-in and registration may lead back to, separated by commas'),
  SIGNALBOX_SSO_DOMAINS: text('mail domains and the SSO by which their people sign in: example.com=SSO_ID,...'),
  SIGNALBOX_CAPTCHA_FLAVOR: Type.Optional(
    Type.Enum(['google', 'hcaptcha'], { description: 'require a CAPTCHA to register (needs the next two)' }),
  ),
  SIGNALBOX_CAPTCHA_SITE_KEY: text('public key of the CAPTCHA'),
  SIGNALBOX_CAPTCHA_SECRET: text('secret key of the CAPTCHA'),
  SIGNALBOX_CAPTCHA_VERIFY_URL: text('where CAPTCHA answers are verified; default the provider of the flavor'),
  SIGNALBOX_SMTP_URL: text('mail server, like smtps://user:password@mail.example.net; default: mails go to data/mail'),
  SIGNALBOX_MAIL_FROM: text('sender of mails; default Signalbox <signalbox@localhost>'),
  SIGNALBOX_REQUESTS_PER_HOUR: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'API calls per hour of a token; default 5000' }),
  ),
  SIGNALBOX_ACCOUNT_REQUESTS_PER_HOUR: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'API calls per hour of all tokens of a person, or of an organization; default four tokens',
    }),
  ),
}

const Accounts = Type.Object(accountEnvironment)
type Env = Type.Static<typeof Accounts>

const verifyUrls = {
  google: 'https://www.google.com/recaptcha/api/siteverify',
  hcaptcha: 'https://api.hcaptcha.com/siteverify',
} as const

/** @param env Checked; `all` is the whole environment, for the settings of providers, whose names vary. */
export function parseAccountSettings(
  env: Env,
  all: Readonly<Record<string, string | undefined>>,
  trustLoopback: boolean,
): AccountSettings {
  const requestsPerHour = env.SIGNALBOX_REQUESTS_PER_HOUR ?? 5000
  return {
    registration: env.SIGNALBOX_REGISTRATION ?? 'open',
    inviteCodes: list(env.SIGNALBOX_INVITE_CODES),
    gdpr: env.SIGNALBOX_GDPR ?? false,
    captcha: parseCaptcha(env),
    trustedOrigins: list(env.SIGNALBOX_TRUSTED_ORIGINS).map(parseOrigin),
    trustLoopback,
    oauthProviders: parseProviders(all),
    ssoDomains: new Map(list(env.SIGNALBOX_SSO_DOMAINS).map(parseSsoDomain)),
    requestsPerHour,
    accountRequestsPerHour: env.SIGNALBOX_ACCOUNT_REQUESTS_PER_HOUR ?? 4 * requestsPerHour,
  }
}

function parseCaptcha(env: Env): CaptchaSettings | null {
  const {
    SIGNALBOX_CAPTCHA_FLAVOR: flavor,
    SIGNALBOX_CAPTCHA_SITE_KEY: siteKey,
    SIGNALBOX_CAPTCHA_SECRET: secret,
  } = env
  if (flavor === undefined && siteKey === undefined && secret === undefined) return null
  if (flavor === undefined) throw invalid('SIGNALBOX_CAPTCHA_FLAVOR', 'is needed with the CAPTCHA keys')
  if (siteKey === undefined) throw invalid('SIGNALBOX_CAPTCHA_SITE_KEY', 'is needed with SIGNALBOX_CAPTCHA_FLAVOR')
  if (secret === undefined) throw invalid('SIGNALBOX_CAPTCHA_SECRET', 'is needed with SIGNALBOX_CAPTCHA_FLAVOR')
  const verifyUrl = env.SIGNALBOX_CAPTCHA_VERIFY_URL ?? verifyUrls[flavor]
  if (!URL.canParse(verifyUrl)) throw invalid('SIGNALBOX_CAPTCHA_VERIFY_URL', 'must be a URL')
  return { flavor, siteKey, secret, verifyUrl }
}

function parseOrigin(value: string): string {
  if (!URL.canParse(value) || new URL(value).origin !== value)
    throw invalid('SIGNALBOX_TRUSTED_ORIGINS', `${value} is not an origin like https://portal.example.com`)
  return value
}

function parseSsoDomain(value: string): [string, string] {
  const [, domain = '', id = ''] =
    /^([a-z0-9.-]+\.[a-z0-9-]+)=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.exec(value) ?? []
  if (domain === '') throw invalid('SIGNALBOX_SSO_DOMAINS', `${value} is not of the form example.com=SSO_ID`)
  return [domain.toLowerCase(), id.toLowerCase()]
}

const providerSetting = /^SIGNALBOX_OAUTH_([A-Z0-9]+)_(CLIENT_ID|CLIENT_SECRET|ISSUER|RAW_CODES)$/

/** `SIGNALBOX_OAUTH_<PROVIDER>_...`: one set per provider. */
export function isProviderSetting(name: string): boolean {
  return providerSetting.test(name)
}

const knownIssuers: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  azure: 'https://login.microsoftonline.com/organizations/v2.0',
  github: 'https://github.com',
}

function parseProviders(all: Readonly<Record<string, string | undefined>>): OauthProvider[] {
  const names = new Set(Object.keys(all).flatMap((name) => providerSetting.exec(name)?.[1] ?? []))
  return [...names].sort().map((upper) => {
    const setting = (part: string): string | undefined => all[`SIGNALBOX_OAUTH_${upper}_${part}`] || undefined
    const required = (part: string): string => {
      const value = setting(part)
      if (value === undefined) throw invalid(`SIGNALBOX_OAUTH_${upper}_${part}`, 'is needed for the provider')
      return value
    }
    const name = upper.toLowerCase()
    const issuer = setting('ISSUER') ?? knownIssuers[name] ?? required('ISSUER')
    assertIssuer(`SIGNALBOX_OAUTH_${upper}_ISSUER`, issuer)
    const rawCodes = setting('RAW_CODES') ?? 'false'
    if (rawCodes !== 'true' && rawCodes !== 'false')
      throw invalid(`SIGNALBOX_OAUTH_${upper}_RAW_CODES`, 'must be true or false')
    return {
      name,
      clientId: required('CLIENT_ID'),
      clientSecret: required('CLIENT_SECRET'),
      issuer,
      acceptRawCodes: rawCodes === 'true',
    }
  })
}

/** An identity must not come over a connection that others can tamper with. */
function assertIssuer(name: string, issuer: string): void {
  const url = URL.parse(issuer)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackUrl(url))) return
  throw invalid(name, 'must be a URL that starts with https://')
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function invalid(name: string, why: string): AppError {
  return new AppError('invalid', `${name} ${why}`)
}
