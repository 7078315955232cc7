const DAY_MS = 86_400_000

const dateParts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
const timeParts = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const

/**
 * Returns by how many milliseconds a clock is ahead of UTC at an instant; NaN for a time that is none.
 * @param zone That of the clock. Default: the zone of the viewer.
 */
export function offsetAt(atMs: number, zone?: string): number {
  if (zone === undefined || Number.isNaN(atMs)) return -60_000 * new Date(atMs).getTimezoneOffset()
  const format = new Intl.DateTimeFormat('en', { ...dateParts, ...timeParts, timeZone: zone })
  const shown = new Map<string, string>(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  const read = (type: string): string => shown.get(type) ?? ''
  const day = `${read('year').padStart(4, '0')}-${read('month')}-${read('day')}`
  const readMs = Date.parse(`${day}T${read('hour')}:${read('minute')}:${read('second')}Z`)
  return readMs - Math.floor(atMs / 1000) * 1000
}

/** Returns what a clock shows at an instant, such as "2026-11-01T01:30". @param zone As in offsetAt(). */
export function readingOf(at: Date, zone?: string): string {
  const shown = new Date(at.getTime() + offsetAt(at.getTime(), zone))
  return Number.isNaN(shown.getTime()) ? '' : shown.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length)
}

/**
 * Returns what a clock shows at an instant such as "2026-11-01T00:30:00Z"; empty for a text that is none.
 * @param zone As in offsetAt().
 */
export function readingAt(instant: string, zone?: string): string {
  return readingOf(new Date(instant), zone)
}

const dated = /^\d{4}-\d{2}-\d{2}T/
const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/

/**
 * Returns the instant of a time, such as "2026-11-01T00:30:00Z"; a text that is no time stays as it is.
 * @param time With a zone, or without one on a clock.
 * @param zone That of the clock, as in offsetAt().
 */
export function instantOf(time: string, zone?: string): string {
  const at = zone === undefined || zoned.test(time) ? new Date(time) : readAt(time, zone)
  return dated.test(time) && !Number.isNaN(at.getTime()) ? at.toISOString().replace('.000Z', 'Z') : time
}

/** Of two equal times it is the first one. One that the clock skips is as much later as the clock is set forward. */
function readAt(local: string, zone: string): Date {
  const readMs = Date.parse(`${local}Z`)
  if (Number.isNaN(readMs)) return new Date(Number.NaN)
  const before = new Date(readMs - offsetAt(readMs - DAY_MS, zone))
  const after = new Date(readMs - offsetAt(readMs + DAY_MS, zone))
  return [before, after].find((at) => readingOf(at, zone) === local) ?? before
}
