import { isIP } from 'node:net'
import { isObject } from '../platform/json/is-object.ts'
import { deviceText } from './device-text.ts'

/*
 * These functions read single values of a device's report. Devices send wrong types, texts for numbers, and numbers out of range; an
 * unusable value counts as not reported.
 */

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

/** Returns the first `max` members of an object, by their names. */
export function entriesOf(value: unknown, max: number): readonly (readonly [string, unknown])[] {
  if (!isObject(value)) return []
  const entries: (readonly [string, unknown])[] = []
  for (const key of Object.keys(value)) {
    if (entries.length >= max) break
    entries.push([key, value[key]])
  }
  return entries
}

const nothing: readonly unknown[] = []

export function listOf(value: unknown, max: number): readonly unknown[] {
  if (!Array.isArray(value)) return nothing
  return value.length <= max ? value : value.slice(0, max)
}

/** @param range Both ends are included. */
export function numberIn(value: unknown, range: readonly [number, number]): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  // Called hundreds of times for each report: destructuring would make an iterator each time.
  return typeof number === 'number' && number >= range[0] && number <= range[1] ? number : undefined
}

/** A fraction is cut off: clients decode no fraction where the interface declares an integer. */
export function integerIn(value: unknown, range: readonly [number, number]): number | undefined {
  const number = numberIn(value, range)
  return number === undefined ? undefined : Math.trunc(number)
}

const COUNTER = [0, Number.MAX_SAFE_INTEGER] as const

export function counterOf(value: unknown): number | undefined {
  return integerIn(value, COUNTER)
}

const DBM = [-150, 60] as const

/** Some firmwares write a negative level as an unsigned integer of 8 or 32 bits. */
export function dbmOf(value: unknown): number | undefined {
  const level = numberIn(value, [-150, 2 ** 32])
  if (level === undefined) return undefined
  const signed = level >= 2 ** 31 ? level - 2 ** 32 : level >= 128 && level <= 255 ? level - 256 : level
  return integerIn(signed, DBM)
}

// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f]+/g

/** Removes characters that can't be stored or shown, and truncates the text. Undefined for a text without content. */
export function textOf(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') return undefined
  if (value.length <= maxLength && isPlain(value) && !value.includes('://')) return value
  // A cut may divide a pair of surrogates, and PostgreSQL stores no half of one.
  const text = deviceText(value.slice(0, 4 * maxLength))
    .replace(control, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed()
  return text === '' ? undefined : text
}

/** True for a text of printable ASCII characters that neither begins nor ends with a space. */
export function isPlain(text: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text)
}

const MAC_DIGITS = 12
/** The digits of the address that is being read. */
const digits: number[] = Array.from({ length: MAC_DIGITS }, () => 0)
const separators: ReadonlySet<number> = new Set(Array.from(':.-', (separator) => separator.charCodeAt(0)))

/** Returns twelve lower-case hex digits. */
export function macOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 17) return undefined
  // A report has dozens of addresses: a regular expression would take twice the time.
  let count = 0
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at)
    if (separators.has(code)) continue
    const digit = hexDigitOf(code)
    if (digit === null || count === MAC_DIGITS) return undefined
    digits[count] = digit
    count += 1
  }
  return count === MAC_DIGITS ? String.fromCharCode(...digits) : undefined
}

/** Returns the code of the digit in lower case; null for another character. */
function hexDigitOf(code: number): number | null {
  if (code >= 0x30 && code <= 0x39) return code
  // The letters differ in one bit from those in upper case.
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower : null
}

/** Returns the address without a prefix length or a zone. */
export function ipOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 64) return undefined
  const [address = ''] = value.split(/[/%]/, 1)
  return isIP(address) === 0 ? undefined : address.toLowerCase()
}

/** Returns the address with the length of its prefix, if the value has one. */
export function prefixOf(value: unknown): string | undefined {
  const ip = ipOf(value)
  if (ip === undefined) return undefined
  const [, length] = /\/(\d{1,3})$/.exec(String(value)) ?? []
  const isValid = length !== undefined && Number(length) <= (isIP(ip) === 4 ? 32 : 128)
  return isValid ? `${ip}/${length}` : ip
}
