import type { KeyObject } from 'node:crypto'

/** A signature by a key of 8,192 bits takes more than 100 ms, in which the process does nothing else, and one of 4,096 bits 3 ms. */
export const MAX_RSA_BITS = 4096

export function isLongRsa(key: KeyObject): boolean {
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_RSA_BITS
}
