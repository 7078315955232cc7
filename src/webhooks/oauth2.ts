import { invalidField } from '../platform/errors.ts'
import type { Document } from '../platform/document.ts'

/** How a webhook of type `oauth2` gets the access tokens for its receiver. RFC 6749, 4.3 and 4.4. */
export interface TokenGrant {
  readonly url: URL
  readonly clientId: string
  readonly clientSecret: string
  /** The fields of the request's form. */
  readonly form: Readonly<Record<string, string>>
}

/**
 * Reads the grant from a webhook's fields, secrets included.
 * @param parseUrl Parses the address in a field; throws where it is malformed.
 * @throws AppError invalid, which names the field.
 */
export function parseTokenGrant(fields: Document, parseUrl: (field: string, url: unknown) => URL): TokenGrant {
  const byPassword = fields['oauth2_grant_type'] === 'password'
  const scopes: unknown = fields['oauth2_scopes']
  const person = () => ({
    username: requireText(fields, 'oauth2_username'),
    password: requireText(fields, 'oauth2_password'),
  })
  return {
    url: parseUrl('oauth2_token_url', fields['oauth2_token_url']),
    clientId: requireText(fields, 'oauth2_client_id'),
    clientSecret: requireText(fields, 'oauth2_client_secret'),
    form: {
      grant_type: byPassword ? 'password' : 'client_credentials',
      ...(byPassword && person()),
      ...(Array.isArray(scopes) && scopes.length > 0 && { scope: scopes.join(' ') }),
    },
  }
}

function requireText(fields: Document, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw invalidField(name, 'is required for type oauth2')
  return value
}

/** Encodes the client's name and secret as HTTP Basic does, each form-encoded first. RFC 6749, 2.3.1. */
export function encodeClient({ clientId, clientSecret }: Pick<TokenGrant, 'clientId' | 'clientSecret'>): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}
