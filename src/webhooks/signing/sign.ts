import { type KeyObject, createHmac, createSecretKey, sign } from 'node:crypto'

/** A secret as the keys of its signatures: a key that is passed as bytes costs more than the signature. */
export interface HmacKeys {
  /** For the headers of the published interface. */
  readonly plain: KeyObject
  /** For the header of Standard Webhooks. */
  readonly standard: KeyObject
}

/** Standard Webhooks writes keys as `whsec_` and base64; the key of any other secret is its UTF-8 bytes. */
export function hmacKeysOf(secret: string): HmacKeys {
  const plain = createSecretKey(secret, 'utf8')
  const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1]
  return { plain, standard: encoded ? createSecretKey(encoded, 'base64') : plain }
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
  const prefix = `${messageId}.${timestampS}.`
  const signatures = [
    ...secrets.map(({ standard }) => {
      const mac = createHmac('sha256', standard).update(prefix).update(body)
      return `v1,${mac.digest('base64')}`
    }),
    ...signByKeys(keys, prefix, body),
  ]
  if (signatures.length === 0) return identity
  const standard = { ...identity, 'webhook-signature': signatures.join(' ') }
  const [present, ...former] = secrets
  if (present === undefined) return standard
  const plain = (algorithm: 'sha256' | 'sha1', keys: HmacKeys): string =>
    createHmac(algorithm, keys.plain).update(body).digest('hex')
  return {
    ...standard,
    'X-Mist-Signature-v2': plain('sha256', present),
    'X-Mist-Signature': plain('sha1', present),
    ...(former.length > 0 && {
      'X-Mist-Signature-v2-Former': former.map((secret) => plain('sha256', secret)).join(','),
      'X-Mist-Signature-Former': former.map((secret) => plain('sha1', secret)).join(','),
    }),
  }
}

function signByKeys(keys: readonly KeyObject[], prefix: string, body: Buffer): string[] {
  if (keys.length === 0) return []
  const signed = Buffer.concat([Buffer.from(prefix), body])
  return keys.map((key) => `v1a,${sign(null, signed, key).toString('base64')}`)
}
