import { type KeyObject, createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import type { OauthProvider } from '../../src/accounts/parts.ts'
import { closeServer, listen } from './real-provider.ts'

/** The provider's faults; an empty object makes it honest. */
export interface Fault {
  /** Members that replace those of the ID token's payload. */
  readonly claims?: Readonly<Record<string, unknown>>
  readonly alg?: 'RS256' | 'HS256' | 'none'
  /** Signs with a key that is not in its key set. */
  readonly foreignKey?: boolean
  readonly noIdToken?: boolean
  /** Parameters that replace those of its redirect; null removes one. */
  readonly redirect?: Readonly<Record<string, string | null>>
  /** A reply of the token endpoint that replaces its own. */
  readonly token?: { readonly status: number; readonly body: unknown }
  /** Members that replace those of its metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface HostileProvider {
  readonly settings: OauthProvider
  fault: Fault
  /** The forms that its token endpoint received. */
  readonly tokenRequests: URLSearchParams[]
  /** The subject that it returns for everyone. */
  subject: string
  close(): Promise<void>
}

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
const foreignKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** An OpenID provider that never prompts the user and lies as configured. */
export async function startHostileProvider(name: string): Promise<HostileProvider> {
  const nonces = new Map<string, string>()
  const http = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  const issuer = await listen(http)
  const settings = { name, clientId: 'signalbox', clientSecret: 'x'.repeat(32), issuer, acceptRawCodes: false }
  const provider: HostileProvider = {
    settings,
    fault: {},
    tokenRequests: [],
    subject: 'mallory',
    close: () => closeServer(http),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    const { fault } = provider
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        reply(response, 200, { ...metadataOf(issuer), ...fault.metadata })
        return
      case '/jwks':
        reply(response, 200, { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] })
        return
      case '/authorize': {
        const code = randomUUID()
        nonces.set(code, url.searchParams.get('nonce') ?? '')
        const location = new URL(url.searchParams.get('redirect_uri') ?? '')
        const right = { code, state: url.searchParams.get('state'), iss: issuer }
        for (const [key, value] of Object.entries({ ...right, ...fault.redirect }))
          if (value !== null) location.searchParams.set(key, value)
        response.writeHead(302, { location: location.href }).end()
        return
      }
      default: {
        const form = new URLSearchParams(await textOf(request))
        provider.tokenRequests.push(form)
        const idToken = makeIdToken(provider, nonces.get(form.get('code') ?? ''))
        const tokens = { access_token: 'any', token_type: 'bearer', ...(!fault.noIdToken && { id_token: idToken }) }
        reply(response, fault.token?.status ?? 200, fault.token?.body ?? tokens)
      }
    }
  }
  return provider
}

function metadataOf(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    // It claims to support weak algorithms.
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    authorization_response_iss_parameter_supported: true,
  }
}

function makeIdToken({ settings, fault, subject }: HostileProvider, nonce: string | undefined): string {
  const nowS = Math.floor(Date.now() / 1000)
  const right = { iss: settings.issuer, aud: settings.clientId, sub: subject, iat: nowS, exp: nowS + 300, nonce }
  const alg = fault.alg ?? 'RS256'
  const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const text = `${encode({ alg, kid: 'one' })}.${encode({ ...right, ...fault.claims })}`
  return `${text}.${signatureOf(alg, text, settings.clientSecret, (fault.foreignKey ? foreignKeys : keys).privateKey)}`
}

function signatureOf(alg: 'RS256' | 'HS256' | 'none', text: string, secret: string, key: KeyObject): string {
  if (alg === 'none') return ''
  if (alg === 'HS256') return createHmac('sha256', secret).update(text).digest('base64url')
  return sign('sha256', Buffer.from(text), key).toString('base64url')
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
