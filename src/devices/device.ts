import { randomInt } from 'node:crypto'

export type { DeviceFacts } from './sessions/tables.ts'
export type { DeviceType } from '../events/device-type.ts'

/** Returns twelve lower-case hex digits for a MAC in any of the usual spellings; null for any other text. */
export function parseMac(text: string): string | null {
  const plain = text.toLowerCase()
  if (/^[0-9a-f]{12}$/.test(plain)) return plain
  const isSeparated = /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$|^(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}$/.test(plain)
  return isSeparated ? plainMac(plain) : null
}

/**
 * Returns the stored spelling of a MAC address. The caller has checked that the text is one, in any spelling (`textOf`
 * in http/texts.ts).
 */
export function plainMac(text: string): string {
  return text.toLowerCase().replaceAll(/[:.-]/g, '')
}

/**
 * Derives a device's id from its MAC, so that the id is the same before and after a claim, and clients that know the
 * MAC know the id.
 * @param mac Twelve lower-case hex digits.
 */
export function deviceIdOf(mac: string): string {
  return `00000000-0000-0000-1000-${mac}`
}

/** Returns the MAC that an id of deviceIdOf() contains. */
export function macOfDeviceId(id: string): string {
  return id.slice(-12)
}

/** Excludes letters and digits that people confuse when they read a label. */
const claimAlphabet = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** Clients recognize claim codes by this length. */
const CLAIM_CODE_LENGTH = 15

/** Returns a random code of about 74 bits, in the only form that the Terraform provider accepts: without dashes. */
export function newClaimCode(): string {
  const letter = () => claimAlphabet[randomInt(claimAlphabet.length)]
  return Array.from({ length: CLAIM_CODE_LENGTH }, letter).join('')
}

/** The first and the last id of devices whose MACs begin with `prefix`, in lower-case hex digits. */
export function deviceIdsFrom(prefix: string): readonly [string, string] {
  return [deviceIdOf(prefix.padEnd(12, '0')), deviceIdOf(prefix.padEnd(12, 'f'))]
}
