import { IANAZone } from 'luxon'
import { isTimeOfDay } from '../../http/texts.ts'
import { invalidField } from '../../platform/errors.ts'
import { isObject } from '../../platform/json/is-object.ts'

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** A maintenance window, weekly, on the clocks of a site. As on the wire. */
export interface MaintenanceWindow {
  /** The days on which it opens. Absent: all. */
  readonly days?: readonly (typeof weekdays)[number][] | undefined
  /** `HH:MM`. */
  readonly start: string
  /** `HH:MM`, at most 24:00. A time before `start` is on the next day. */
  readonly end: string
}

const knownDays: ReadonlySet<unknown> = new Set(weekdays)

/** True if a stored value can be a window: settings may have been stored before their windows were checked. */
export function isWindow(value: unknown): value is MaintenanceWindow {
  if (!isObject(value)) return false
  const { days, start, end } = value
  const areDays =
    days === undefined || (Array.isArray(days) && days.length > 0 && days.every((day) => knownDays.has(day)))
  return areDays && isTime(start) && (isTime(end) || end === '24:00')
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && isTimeOfDay(value)
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3600e3
/** If clocks are set forward over a window, it opens a week later. */
const HORIZON_DAYS = 15

/**
 * Returns the first instant, not before `fromMs`, at which a device that needs `needMs` may begin so that it ends within
 * a window. Windows that overlap or touch count as one.
 * @param zone The name of an IANA zone.
 * @returns Null: none of the windows is long enough.
 */
export function findOpening(
  windows: readonly MaintenanceWindow[],
  zone: string,
  { fromMs, needMs }: { readonly fromMs: number; readonly needMs: number },
): number | null {
  const clock = IANAZone.create(zone)
  const today = Math.floor((fromMs + clock.offset(fromMs) * MINUTE_MS) / DAY_MS)
  let [openedMs, closesMs] = [-Infinity, -Infinity]
  // A window that opened yesterday may be open still.
  for (let day = today - 1; day <= today + HORIZON_DAYS; day += 1) {
    for (const span of spansOf(windows, day, clock)) {
      if (span.fromMs > closesMs) openedMs = span.fromMs
      closesMs = Math.max(closesMs, span.toMs)
      const beginMs = Math.max(openedMs, fromMs)
      if (beginMs < closesMs && beginMs + needMs <= closesMs) return beginMs
    }
  }
  return null
}

/** Returns when the window that is open at an instant closes, together with those that touch it; null: none is open. */
export function findClosing(windows: readonly MaintenanceWindow[], zone: string, atMs: number): number | null {
  const clock = IANAZone.create(zone)
  const today = Math.floor((atMs + clock.offset(atMs) * MINUTE_MS) / DAY_MS)
  let closesMs = -Infinity
  for (let day = today - 1; day <= today + HORIZON_DAYS; day += 1) {
    for (const { fromMs, toMs } of spansOf(windows, day, clock)) {
      if (fromMs > Math.max(closesMs, atMs)) return closesMs > atMs ? closesMs : null
      closesMs = Math.max(closesMs, toMs)
    }
  }
  return closesMs > atMs ? closesMs : null
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** A time of day on certain days. */
interface DailyTime extends Pick<MaintenanceWindow, 'days'> {
  /** `HH:MM`. */
  readonly time: string
}

/**
 * Returns the first instant after `afterMs` at which the clock of a site reaches the time; see instantOf().
 * @param zone The name of an IANA zone.
 */
export function findNextTime({ days, time }: DailyTime, zone: string, afterMs: number): number {
  const clock = IANAZone.create(zone)
  const yesterday = Math.floor((afterMs + clock.offset(afterMs) * MINUTE_MS) / DAY_MS) - 1
  for (let day = yesterday; ; day += 1) {
    if (!isOn(days, day)) continue
    const atMs = instantOf(day * DAY_MS + minutesOf(time) * MINUTE_MS, clock)
    if (atMs > afterMs) return atMs
  }
}

/** @param day Days since 1970-01-01 on the clock. */
function isOn(days: MaintenanceWindow['days'], day: number): boolean {
  // 1970-01-01 was a Thursday.
  const weekday = weekdays[(((day + 3) % 7) + 7) % 7]
  return days === undefined || days.some((name) => name === weekday)
}

/** @param day Days since 1970-01-01 on the clock. */
function spansOf(windows: readonly MaintenanceWindow[], day: number, clock: IANAZone): Span[] {
  return windows
    .filter(({ days }) => isOn(days, day))
    .map(({ start, end }) => {
      const startMs = day * DAY_MS + minutesOf(start) * MINUTE_MS
      const endMs = day * DAY_MS + minutesOf(end) * MINUTE_MS + (minutesOf(end) <= minutesOf(start) ? DAY_MS : 0)
      return { fromMs: instantOf(startMs, clock), toMs: instantOf(endMs, clock) }
    })
    .filter(({ fromMs, toMs }) => fromMs < toMs)
    .toSorted((a, b) => a.fromMs - b.fromMs)
}

/**
 * Returns when the clock first shows the given time or a later one: if it shows the time twice, the first time; if it
 * is set forward over the time, the moment of that change.
 * @param localMs The reading of the clock, as if it were UTC.
 */
function instantOf(localMs: number, clock: IANAZone): number {
  const before = clock.offset(localMs - DAY_MS)
  const after = clock.offset(localMs + DAY_MS)
  const withBefore = localMs - before * MINUTE_MS
  if (clock.offset(withBefore) === before) return withBefore
  const withAfter = localMs - after * MINUTE_MS
  if (clock.offset(withAfter) === after) return withAfter
  // The clock is set forward after the first of these instants, and not after the second.
  let [earlyMs, lateMs] = [withAfter, withBefore]
  while (lateMs - earlyMs > 1) {
    const middleMs = Math.floor((earlyMs + lateMs) / 2)
    if (clock.offset(middleMs) === before) earlyMs = middleMs
    else lateMs = middleMs
  }
  return lateMs
}

/** Returns how many milliseconds the longest window has on a day without a change of the clocks. */
export function longestMs(windows: readonly MaintenanceWindow[]): number {
  // A week in which no zone changes its clocks.
  const spans = Array.from({ length: 14 }, (_, day) => spansOf(windows, day, utc)).flat()
  let [longest, fromMs, toMs] = [0, 0, 0]
  for (const span of spans) {
    if (span.fromMs > toMs) fromMs = span.fromMs
    toMs = Math.max(toMs, span.toMs)
    longest = Math.max(longest, toMs - fromMs)
  }
  return longest
}

const utc = IANAZone.create('UTC')

/** @throws AppError invalid for a window that has no end. */
export function refuseEndless(field: string, windows: readonly MaintenanceWindow[]): void {
  for (const [index, { start, end }] of windows.entries())
    if (start === end)
      throw invalidField(`${field}.${index}.end`, `is ${end}, as start is; a window of a whole day is 00:00 to 24:00`)
}

/** Minutes since midnight. */
export function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

/** Describes windows for people: `mon, tue 22:00-04:00`. */
export function describeWindows(windows: readonly MaintenanceWindow[]): string {
  return windows.map(({ days, start, end }) => `${days?.join(', ') ?? 'daily'} ${start}-${end}`).join('; ')
}
