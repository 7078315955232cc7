import { expect, it, test } from 'vitest'
import { parseConfig } from '../../src/app/config/config.ts'

const acme = { SIGNALBOX_OAUTH_ACME_CLIENT_ID: 'id', SIGNALBOX_OAUTH_ACME_CLIENT_SECRET: 'secret' }
const google = { SIGNALBOX_OAUTH_GOOGLE_CLIENT_ID: 'id', SIGNALBOX_OAUTH_GOOGLE_CLIENT_SECRET: 'secret' }
const providersOf = (environment: Record<string, string>) => parseConfig(environment).accounts.oauthProviders

it('has no OAuth provider by default', () => {
  expect(providersOf({})).toEqual([])
})

it('contains the issuers of well-known OAuth providers, and accepts others by name', () => {
  const issuer = 'https://login.acme.test/realm'
  expect(providersOf({ ...acme, ...google, SIGNALBOX_OAUTH_ACME_ISSUER: issuer })).toEqual([
    { name: 'acme', clientId: 'id', clientSecret: 'secret', issuer, acceptRawCodes: false },
    {
      name: 'google',
      clientId: 'id',
      clientSecret: 'secret',
      issuer: 'https://accounts.google.com',
      acceptRawCodes: false,
    },
  ])
})

test.for(['http://127.0.0.1:9090', 'http://localhost:9090', 'http://[::1]:9090'])(
  'accepts an OAuth issuer without TLS on loopback: %s',
  (issuer) => {
    expect(providersOf({ ...acme, SIGNALBOX_OAUTH_ACME_ISSUER: issuer })).toMatchObject([{ issuer }])
  },
)

test.for([
  ['http://login.acme.test', 'SIGNALBOX_OAUTH_ACME_ISSUER must be a URL that starts with https://'],
  ['http://127.acme.test', 'SIGNALBOX_OAUTH_ACME_ISSUER must be a URL that starts with https://'],
  ['javascript:alert(1)', 'SIGNALBOX_OAUTH_ACME_ISSUER must be a URL that starts with https://'],
  ['acme', 'SIGNALBOX_OAUTH_ACME_ISSUER must be a URL that starts with https://'],
  ['', 'SIGNALBOX_OAUTH_ACME_ISSUER is needed for the provider'],
] as const)('refuses the OAuth issuer "%s"', ([issuer, message]) => {
  expect(() => providersOf({ ...acme, SIGNALBOX_OAUTH_ACME_ISSUER: issuer })).toThrow(message)
})

test.for([
  [{ SIGNALBOX_OAUTH_GOOGLE_CLIENT_ID: 'id' }, 'SIGNALBOX_OAUTH_GOOGLE_CLIENT_SECRET is needed for the provider'],
  [{ SIGNALBOX_OAUTH_GOOGLE_CLIENT_SECRET: 's' }, 'SIGNALBOX_OAUTH_GOOGLE_CLIENT_ID is needed for the provider'],
  [{ ...google, SIGNALBOX_OAUTH_GOOGLE_RAW_CODES: 'yes' }, 'SIGNALBOX_OAUTH_GOOGLE_RAW_CODES must be true or false'],
] as const)('refuses an incomplete provider: %j', ([environment, message]) => {
  expect(() => providersOf({ ...environment })).toThrow(message)
})
