import { offsetAt, readingOf } from './clock-reading.ts'
import { clockTime } from './times.ts'

const DAY_MS = 86_400_000

interface ClockReading {
  /** A time without a zone, such as "2026-11-01T01:30". */
  readonly local: string
  /** The one that is meant. */
  readonly instant: string
  /** That of the clock of a site; undefined: the clock of the viewer. */
  readonly zone?: string | undefined
}

/**
 * Returns what a time means that a clock skips or shows twice, as it does when summer time begins and ends; null: the clock shows it
 * once.
 */
export function clockChangeText({ local, instant, zone }: ClockReading, nowMs?: number): string | null {
  const at = new Date(instant)
  const atMs = at.getTime()
  if (Number.isNaN(atMs)) return null
  const meant = clockTime(atMs / 1000, zone, nowMs)
  const clock = zone === undefined ? 'Your clock' : 'The clock of the site'
  const reading = readingOf(at, zone)
  if (reading !== local.slice(0, reading.length)) return `${clock} skips this time: ${meant} is meant.`
  const changeMs = offsetAt(atMs - DAY_MS, zone) - offsetAt(atMs + DAY_MS, zone)
  if (changeMs <= 0) return null
  const which = [
    ['first', atMs + changeMs],
    ['second', atMs - changeMs],
  ] as const
  const [name] = which.find(([, otherMs]) => readingOf(new Date(otherMs), zone) === reading) ?? []
  return name === undefined ? null : `${clock} shows this time twice: the ${name}, ${meant}, is meant.`
}
