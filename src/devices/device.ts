import { randomInt } from 'node:crypto'

export type { DeviceFacts } from './tables.ts'
export type { DeviceType } from '../events/device-type.ts'

/** Returns twelve lower-case hex digits for a MAC in any of the usual spellings; null for any other text. */
export function parseMac(text: string): string | null {
  const plain = text.toLowerCase()
  if (/^[0-9a-f]{12}$/.test(plain)) return plain
  return /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/.test(plain) ? plain.replaceAll(/[:-]/g, '') : null
}

/**
 * Derives a device's id from its MAC, so that the id is the same before and after a claim, and clients that know the
 * MAC know the id.
 * @param mac Twelve lower-case hex digits.
 */
export function deviceIdOf(mac: string): string {
  return `00000000-0000-0000-1000-${mac}`
}

/** Without letters and digits that people confuse when they read a label. */
const claimAlphabet = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** Returns a code as a device's label would carry it: three groups of five, about 74 bits. */
export function newClaimCode(): string {
  const group = (): string => Array.from({ length: 5 }, () => claimAlphabet[randomInt(claimAlphabet.length)]).join('')
  return [group(), group(), group()].join('-')
}
