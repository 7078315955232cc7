import { createHmac } from 'node:crypto'

export interface Signable {
  /** Stays the same over all attempts, so that receivers can drop duplicates. */
  readonly messageId: string
  readonly at: Date
  /** The exact bytes that are sent. */
  readonly body: Buffer
}

/**
 * Returns the headers by which a receiver verifies the sender: the two of the published interface, and those
 * of Standard Webhooks 1.0. Without a secret there are only the message's id and time.
 *
 * @param secrets The current one first. The Standard Webhooks header holds a signature for each. The other two hold one, as
 *   receivers compare them as a whole; headers of our own beside them list the signatures by the replaced secrets.
 */
export function signatureHeaders(
  secrets: readonly string[],
  { messageId, at, body }: Signable,
): Record<string, string> {
  const timestampS = Math.floor(at.getTime() / 1000)
  const identity = { 'webhook-id': messageId, 'webhook-timestamp': String(timestampS) }
  const [present, ...former] = secrets
  if (present === undefined) return identity
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', standardKey(secret)).update(`${messageId}.${timestampS}.`).update(body)
    return `v1,${mac.digest('base64')}`
  })
  const plain = (algorithm: 'sha256' | 'sha1', secret: string): string =>
    createHmac(algorithm, secret).update(body).digest('hex')
  return {
    ...identity,
    'X-Mist-Signature-v2': plain('sha256', present),
    'X-Mist-Signature': plain('sha1', present),
    'webhook-signature': signatures.join(' '),
    ...(former.length > 0 && {
      'X-Mist-Signature-v2-Former': former.map((secret) => plain('sha256', secret)).join(','),
      'X-Mist-Signature-Former': former.map((secret) => plain('sha1', secret)).join(','),
    }),
  }
}

/** Standard Webhooks writes keys as `whsec_` and base64; the key of any other secret is its UTF-8 bytes. */
function standardKey(secret: string): Buffer {
  const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1]
  return encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8')
}
