import { type KeyObject, sign } from 'node:crypto'
import { BLOCK_BYTES, type HmacKey, hmacKeyOf, hmacOf } from './hmac.ts'

/** A secret as the keys of its signatures. */
export interface HmacKeys {
  /** For the headers of the published interface. */
  readonly sha256: HmacKey
  readonly sha1: HmacKey
  /** For the header of Standard Webhooks. */
  readonly standard: HmacKey
}

const ENCODED_PREFIX = 'whsec_'

/** Standard Webhooks writes keys as `whsec_` and base64; the key of any other secret is its UTF-8 bytes. */
export function hmacKeysOf(secret: string): HmacKeys {
  const bytes = Buffer.from(secret, 'utf8')
  const encoded = encodedKeyOf(secret)
  const sha256 = hmacKeyOf('sha256', bytes)
  return {
    sha256,
    sha1: hmacKeyOf('sha1', bytes),
    standard: encoded !== undefined ? hmacKeyOf('sha256', Buffer.from(encoded, 'base64')) : sha256,
  }
}

/** Returns the base64 of a key in the form of Standard Webhooks; undefined for any other secret. */
function encodedKeyOf(secret: string): string | undefined {
  if (!secret.startsWith(ENCODED_PREFIX) || secret === ENCODED_PREFIX) return undefined
  const rest = secret.slice(ENCODED_PREFIX.length)
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(rest) ? rest : undefined
}

/**
 * Returns what is wrong with a new secret; null if nothing is. Receivers decode what follows `whsec_`, so they verify no
 * signature by a secret whose rest is no base64.
 */
export function secretFault(secret: string): string | null {
  return secret.startsWith(ENCODED_PREFIX) && encodedKeyOf(secret) === undefined
    ? `must have padded base64 after ${ENCODED_PREFIX}`
    : null
}

export interface Signable {
  /** Stays the same over all attempts, so that receivers can drop duplicates. */
  readonly messageId: string
  readonly at: Date
  /** The exact bytes that are sent. */
  readonly body: Buffer
}

/**
 * Returns the headers by which a receiver verifies the sender: the two of the published interface, and those of
 * Standard Webhooks 1.0. Without a secret and a key there are only the message's id and time.
 *
 * @param secrets The current one first. The Standard Webhooks header has a signature for each. The other two have one,
 *   as receivers compare them as a whole; additional headers of our own list the signatures by the replaced secrets.
 * @param keys Ed25519 keys, which sign in the Standard Webhooks header only.
 */
export function signatureHeaders(
  secrets: readonly HmacKeys[],
  { messageId, at, body }: Signable,
  keys: readonly KeyObject[] = [],
): Record<string, string> {
  const timestampS = Math.floor(at.getTime() / 1000)
  const identity = { 'webhook-id': messageId, 'webhook-timestamp': String(timestampS) }
  const [present, ...former] = secrets
  if (present === undefined && keys.length === 0) return identity
  const prefix = `${messageId}.${timestampS}.`
  const prefixBytes = Buffer.byteLength(prefix)
  const text = Buffer.allocUnsafe(BLOCK_BYTES + prefixBytes + body.length)
  text.write(prefix, BLOCK_BYTES)
  body.copy(text, BLOCK_BYTES + prefixBytes)
  const signatures = [
    ...secrets.map(({ standard }) => `v1,${hmacOf(standard, text, 'base64')}`),
    ...signByKeys(keys, text.subarray(BLOCK_BYTES)),
  ]
  const standard = { ...identity, 'webhook-signature': signatures.join(' ') }
  if (present === undefined) return standard
  // From now on the block before the body has keys, and no longer the prefix.
  const plain = text.subarray(prefixBytes)
  return {
    ...standard,
    'X-Mist-Signature-v2': hmacOf(present.sha256, plain, 'hex'),
    'X-Mist-Signature': hmacOf(present.sha1, plain, 'hex'),
    ...(former.length > 0 && {
      'X-Mist-Signature-v2-Former': former.map(({ sha256 }) => hmacOf(sha256, plain, 'hex')).join(','),
      'X-Mist-Signature-Former': former.map(({ sha1 }) => hmacOf(sha1, plain, 'hex')).join(','),
    }),
  }
}

function signByKeys(keys: readonly KeyObject[], signed: Buffer): string[] {
  return keys.map((key) => `v1a,${sign(null, signed, key).toString('base64')}`)
}
