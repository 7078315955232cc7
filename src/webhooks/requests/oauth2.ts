import { sign } from 'node:crypto'
import { invalidField } from '../../platform/errors.ts'
import type { Document } from '../../platform/json/document.ts'

export interface TokenClient {
  readonly id: string
  readonly secret: string
}

/** How a webhook of type `oauth2` gets the access tokens for its receiver. RFC 6749, 4.3 and 4.4. */
export interface TokenGrant {
  readonly url: URL
  /** Null: a client without a secret, or none; only for the grant of a password. */
  readonly client: TokenClient | null
  /** The fields of the request's form. */
  readonly form: Readonly<Record<string, string>>
  /** Null if the form is complete; otherwise the content of the signed statement in it. */
  readonly assertion: Assertion | null
}

/** A statement that a service account signs with its own key. RFC 7523, 2.1. */
export interface Assertion {
  readonly issuer: string
  /** An RSA key in PEM. */
  readonly keyPem: string
  readonly keyId: string | null
  readonly scope: string
}

/** The statement is used immediately, so it need not be valid for long. */
const ASSERTION_VALID_S = 300

/** Encodes the statement as a JSON Web Token for the server at `url`. */
export function encodeAssertion({ issuer, keyPem, keyId, scope }: Assertion, url: URL, now: Date): string {
  const nowS = Math.floor(now.getTime() / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId !== null && { kid: keyId }) }
  const claims = { iss: issuer, scope, aud: url.href, iat: nowS, exp: nowS + ASSERTION_VALID_S }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${sign('sha256', Buffer.from(text), keyPem).toString('base64url')}`
}

/**
 * Reads the grant from a webhook's fields, secrets included.
 * @param parseUrl Parses the address in a field; throws where it is malformed.
 * @throws AppError invalid, which names the field.
 */
export function parseTokenGrant(fields: Document, parseUrl: (field: string, url: unknown) => URL): TokenGrant {
  const byPassword = fields['oauth2_grant_type'] === 'password'
  const scopes: unknown = fields['oauth2_scopes']
  const client = parseClient(fields, byPassword)
  return {
    url: parseUrl('oauth2_token_url', fields['oauth2_token_url']),
    client,
    form: {
      ...(byPassword
        ? {
            grant_type: 'password',
            username: requireText(fields, 'oauth2_username'),
            password: requireText(fields, 'oauth2_password'),
          }
        : { grant_type: 'client_credentials' }),
      ...(client === null &&
        isSet(fields, 'oauth2_client_id') && { client_id: requireText(fields, 'oauth2_client_id') }),
      ...(Array.isArray(scopes) && scopes.length > 0 && { scope: scopes.join(' ') }),
    },
    assertion: null,
  }
}

/** With the password of a person, the client may have no secret, or there may be none. RFC 6749, 4.3.2. */
function parseClient(fields: Document, byPassword: boolean): TokenClient | null {
  if (byPassword && !isSet(fields, 'oauth2_client_secret')) return null
  return { id: requireText(fields, 'oauth2_client_id'), secret: requireText(fields, 'oauth2_client_secret') }
}

function isSet(fields: Document, name: string): boolean {
  return typeof fields[name] === 'string' && fields[name] !== ''
}

function requireText(fields: Document, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw invalidField(name, 'is required for type oauth2')
  return value
}

/** Encodes the client's name and secret as HTTP Basic does, each form-encoded first. RFC 6749, 2.3.1. */
export function encodeClient({ id, secret }: TokenClient): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}
