import { createHmac, timingSafeEqual } from 'node:crypto'
import { ByteQueue } from './byte-queue.ts'

/** The device's text before SSH begins: `outbound-ssh` identifies the device, call home (RFC 8071) sends nothing. */
export interface Preamble {
  /** The `device-id` of the configuration. It proves nothing. */
  readonly deviceId: string | null
  /** Base64 of the public host key, without the name of its type. */
  readonly hostKey: string | null
  /** Lower-case hex. */
  readonly hmac: string | null
  /** The value that the HMAC is of, as it was sent. */
  readonly signedText: string | null
}

/** The device sent too much, or an invalid preamble. */
export class PreambleError extends Error {}

/** Far more than the longest host key. */
export const MAX_PREAMBLE_BYTES = 16 * 1024
const SSH = Buffer.from('SSH-')
const none: Preamble = { deviceId: null, hostKey: null, hmac: null, signedText: null }

/** Reads the preamble of one connection. */
export class PreambleReader {
  readonly #queue = new ByteQueue()
  #searched = 0

  /**
   * Adds bytes. Returns the preamble once SSH begins, with the bytes of SSH that have arrived; null until then.
   * @throws PreambleError
   */
  read(bytes: Buffer): { readonly preamble: Preamble; readonly rest: Buffer } | null {
    this.#queue.push(bytes)
    const start = this.#findSsh()
    if ((start ?? this.#queue.length) > MAX_PREAMBLE_BYTES) throw new PreambleError('the preamble is too long')
    if (start === null) return null
    const text = this.#queue.take(start).toString('latin1')
    return { preamble: parsePreamble(text), rest: this.#queue.take(this.#queue.length) }
  }

  /** SSH begins where a line starts with its name. */
  #findSsh(): number | null {
    for (let from = this.#searched; ;) {
      const at = this.#queue.indexOf(SSH, from)
      if (at === 0 || (at > 0 && this.#queue.view()[at - 1] === 0x0a)) return at
      if (at === -1) break
      from = at + 1
    }
    this.#searched = Math.max(0, this.#queue.length - SSH.length + 1)
    return null
  }
}

/**
 * Parses the lines tolerantly, because releases differ: with one colon or two, with or without spaces, with blank
 * lines, and with further lines. Source: Junos OS NETCONF guide, "NETCONF call home"; and public clients of it.
 * @throws PreambleError if there are lines, and none of them names the protocol.
 */
export function parsePreamble(text: string): Preamble {
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n|\r/)) {
    // A pattern that also cut the spaces after the value would try again at each of them, in quadratic time.
    const [, name, rest = ''] = /^\s*([A-Za-z-]+)\s*::?(.*)$/.exec(line) ?? []
    const value = rest.trim()
    if (name !== undefined && value !== '') fields.set(name.toUpperCase(), value)
  }
  if (text.trim() === '') return none
  if (fields.get('MSG-ID')?.toUpperCase() !== 'DEVICE-CONN-INFO') throw new PreambleError('the preamble is unknown')
  const signedText = fields.get('HOST-KEY') ?? null
  return {
    deviceId: fields.get('DEVICE-ID') ?? null,
    hostKey: signedText === null ? null : keyOf(signedText),
    hmac: fields.get('HMAC')?.toLowerCase() ?? null,
    signedText,
  }
}

/** The key may be sent as in a file of known hosts, in quotes, or as plain base64. */
function keyOf(text: string): string | null {
  const words = text.replaceAll(/["']/g, '').split(/\s+/)
  return words.find((word) => /^AAAA[A-Za-z0-9+/]+={0,2}$/.test(word)) ?? null
}

/** True if someone with the secret vouches for the host key. Compares in constant time. */
export function isVouchedFor({ hmac, signedText }: Preamble, secret: string): boolean {
  if (hmac === null || signedText === null || !/^[0-9a-f]{40}$/.test(hmac)) return false
  const expected = createHmac('sha1', secret).update(signedText, 'latin1').digest()
  return timingSafeEqual(expected, Buffer.from(hmac, 'hex'))
}
