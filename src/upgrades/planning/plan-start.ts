import { DateTime, IANAZone } from 'luxon'

/** A time as the client named it: an instant, or a time on the clocks of each site. */
export type StartTime =
  | { readonly kind: 'instant'; readonly at: Date }
  /** `localMs`: the clock's reading, as if it were UTC. */
  | { readonly kind: 'local'; readonly localMs: number }

const WITH_ZONE = /T.*(?:Z|[+-]\d{2}(?::?\d{2})?)$/i
/** The parser takes any two digits for hours and minutes of an offset. */
const IMPOSSIBLE_OFFSET = /T.*[+-](?:2[4-9]|[3-9]\d|\d{2}:?[6-9]\d)(?::?\d{2})?$/i

/** Anywhere on earth it is over before the year 10000, which dates on the wire can't show. */
export const MAX_YEAR = 9998

/**
 * Parses an ISO 8601 date and time; a space may replace the `T`. Without a zone it is local time.
 * @returns Null if the text has another form.
 */
export function parseStartTime(text: string): StartTime | null {
  const iso = text
    .trim()
    .replace(/ +(?=[Z+-])/i, '')
    .replace(/^(\S+) +/, '$1T')
  // The parser interprets a time of day without a date as one of today, and ignores a zone in brackets.
  if (!/^\d{4}-?[\dW][^[\]]*$/.test(iso) || IMPOSSIBLE_OFFSET.test(iso)) return null
  const parsed = DateTime.fromISO(iso, { zone: 'utc' })
  if (!parsed.isValid || parsed.year < 1 || parsed.year > MAX_YEAR) return null
  if (WITH_ZONE.test(iso)) return { kind: 'instant', at: parsed.toJSDate() }
  return { kind: 'local', localMs: parsed.toMillis() }
}

/** Returns null for an unknown zone: the caller decides about the replacement, and reports it. */
export function findZone(name: string): IANAZone | null {
  const zone = IANAZone.create(name)
  return zone.isValid ? zone : null
}

export const utcZone = IANAZone.create('UTC')

const DAY_MS = 24 * 3600e3

/**
 * The instant at which clocks in `zone` show the time. Where clocks are set forward over it, it moves
 * forward by as much; where it comes twice, the first counts.
 */
export function resolveStartTime(time: StartTime, zone: IANAZone): Date {
  if (time.kind === 'instant') return time.at
  const { localMs } = time
  const before = zone.offset(localMs - DAY_MS)
  const after = zone.offset(localMs + DAY_MS)
  const instants = [before, after]
    .map((offsetMin) => ({ offsetMin, atMs: localMs - offsetMin * 60e3 }))
    .filter(({ offsetMin, atMs }) => zone.offset(atMs) === offsetMin)
    .map(({ atMs }) => atMs)
  return new Date(instants.length > 0 ? Math.min(...instants) : localMs - before * 60e3)
}

/** A local time that has just passed means "now"; an earlier one is a mistake. */
export const PAST_TOLERANCE_MS = 5 * 60e3
