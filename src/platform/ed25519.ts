import { type KeyObject, createPublicKey, verify } from 'node:crypto'

/** Parses an Ed25519 public key in PEM. @returns Null for anything else. */
export function parseEd25519Key(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem)
    return key.asymmetricKeyType === 'ed25519' ? key : null
  } catch {
    return null
  }
}

/**
 * True if the key has signed a file with this hash: files are signed by the 32 bytes of their SHA-256.
 * @param sha256 Hexadecimal.
 * @param signature Base64.
 */
export function isSignedBy(key: KeyObject, { sha256, signature }: { sha256: string; signature: string }): boolean {
  return verify(null, Buffer.from(sha256, 'hex'), key, Buffer.from(signature, 'base64'))
}
