import { readingOf } from './clock-reading.ts'
import { clockTime } from './times.ts'

const DAY_MS = 86_400_000

/**
 * Returns what a time means that the clock of the viewer skips or shows twice, as it does when summer time begins and ends;
 * null: the clock shows it once.
 * @param local A time without a zone, such as "2026-11-01T01:30".
 * @param instant The one that is meant; undefined: the one that a program takes, which is the first of two.
 */
export function clockChangeText(local: string, instant?: string, nowMs?: number): string | null {
  const at = new Date(instant ?? local)
  const atMs = at.getTime()
  if (Number.isNaN(atMs)) return null
  const meant = clockTime(atMs / 1000, undefined, nowMs)
  if (readingOf(at) !== local.slice(0, readingOf(at).length)) return `Your clock skips this time: ${meant} is meant.`
  const changeMs = 60_000 * (offsetAt(atMs + DAY_MS) - offsetAt(atMs - DAY_MS))
  if (changeMs <= 0) return null
  const which = [
    ['first', atMs + changeMs],
    ['second', atMs - changeMs],
  ] as const
  const [name] = which.find(([, otherMs]) => readingOf(new Date(otherMs)) === readingOf(at)) ?? []
  return name === undefined ? null : `Your clock shows this time twice: the ${name}, ${meant}, is meant.`
}

/** @returns Minutes by which the clock is behind UTC. */
function offsetAt(ms: number): number {
  return new Date(ms).getTimezoneOffset()
}
