import { createHmac } from 'node:crypto'

export interface Signable {
  /** Stays the same over all attempts, so that receivers can drop what they have already seen. */
  readonly messageId: string
  readonly at: Date
  /** Exactly the bytes that are sent. */
  readonly body: Buffer
}

/**
 * The headers by which a receiver checks where a message comes from: the pair that receivers of the
 * interface know, and those of Standard Webhooks 1.0. Without a secret only the message's id and time.
 *
 * @param secrets The present one first. Those it has replaced sign too, where a header can hold
 *   several signatures: the Standard one.
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

/** Standard Webhooks writes its keys as `whsec_` and base64; any other secret is its own UTF-8 bytes. */
function standardKey(secret: string): Buffer {
  const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1]
  return encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8')
}
