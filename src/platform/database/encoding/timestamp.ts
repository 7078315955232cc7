/** `2026-03-01 12:00:00`, without the fraction of the second and the zone. */
const SECONDS_LENGTH = 19
const UTC = '+00'
const ZERO = 48
const HYPHEN = 45
const SPACE = 32
const POINT = 46
/** Date.UTC() takes a year of two digits for one of the last century. */
const LEAST_YEAR = 100
const MILLISECOND_DIGITS = 3

/** @returns The number that two digits make. */
function pairAt(text: string, place: number): number {
  return (text.charCodeAt(place) - ZERO) * 10 + text.charCodeAt(place + 1) - ZERO
}

/** @returns The milliseconds of a fraction of a second; further digits are cut off. */
function millisecondsOf(text: string, from: number, to: number): number {
  let ms = 0
  for (let digit = 0; digit < MILLISECOND_DIGITS; digit += 1)
    ms = ms * 10 + (from + digit < to ? text.charCodeAt(from + digit) - ZERO : 0)
  return ms
}

/**
 * Decodes a `timestamptz` as PostgreSQL writes it in UTC. Connections have that time zone unless the server has another one.
 * @param decodeOther Decodes texts in any other form: other zones, years with fewer or more than four digits, and infinity.
 */
export function decodeTimestamp(text: string, decodeOther: (text: string) => unknown): unknown {
  const end = text.length - UTC.length
  const year = pairAt(text, 0) * 100 + pairAt(text, 2)
  const isPlain =
    text.charCodeAt(4) === HYPHEN &&
    text.charCodeAt(10) === SPACE &&
    (end === SECONDS_LENGTH || (end > SECONDS_LENGTH && text.charCodeAt(SECONDS_LENGTH) === POINT)) &&
    year >= LEAST_YEAR &&
    text.endsWith(UTC)
  if (!isPlain) return decodeOther(text)
  const ms = millisecondsOf(text, SECONDS_LENGTH + 1, end)
  return new Date(
    Date.UTC(year, pairAt(text, 5) - 1, pairAt(text, 8), pairAt(text, 11), pairAt(text, 14), pairAt(text, 17), ms),
  )
}
