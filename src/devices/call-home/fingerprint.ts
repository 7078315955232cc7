import { createHash } from 'node:crypto'

/** Returns the fingerprint of a public key as OpenSSH writes it. @param blob The key as SSH transmits it. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

const isFingerprint = /^SHA256:[A-Za-z0-9+/]{43}$/

/**
 * Returns the fingerprint of a public key in the format of OpenSSH (`ssh-ed25519 AAAA...`, with or without a host name
 * before it), or the fingerprint itself; null for any other text.
 */
export function parseFingerprint(text: string): string | null {
  const words = text.trim().split(/\s+/)
  if (words.length === 1 && isFingerprint.test(words[0] ?? '')) return words[0] ?? null
  const at = words.findIndex((word) => /^(ssh|ecdsa)-[a-z0-9-]+$/.test(word))
  const encoded = words[at + 1]
  if (at === -1 || encoded === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null
  const blob = Buffer.from(encoded, 'base64')
  const length = blob.length >= 4 ? blob.readUInt32BE(0) : 0
  return blob.subarray(4, 4 + length).toString('latin1') === words[at] ? fingerprintOf(blob) : null
}
