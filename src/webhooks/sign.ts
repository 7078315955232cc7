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
 * @param secrets The current one first. Replaced secrets sign only in the Standard Webhooks header, which can
 *   hold several signatures.
 */
export function signatureHeaders(
  secrets: readonly string[],
  { messageId, at, body }: Signable,
): Record<string, string> {
  const timestampS = Math.floor(at.getTime() / 1000)
  const identity = { 'webhook-id': messageId, 'webhook-timestamp': String(timestampS) }
  const [present] = secrets
  if (present === undefined) return identity
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', standardKey(secret)).update(`${messageId}.${timestampS}.`).update(body)
    return `v1,${mac.digest('base64')}`
  })
  return {
    ...identity,
    'X-Mist-Signature-v2': createHmac('sha256', present).update(body).digest('hex'),
    'X-Mist-Signature': createHmac('sha1', present).update(body).digest('hex'),
    'webhook-signature': signatures.join(' '),
  }
}

/** Standard Webhooks writes keys as `whsec_` and base64; the key of any other secret is its UTF-8 bytes. */
function standardKey(secret: string): Buffer {
  const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1]
  return encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8')
}
