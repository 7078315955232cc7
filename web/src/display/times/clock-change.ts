import { clockTime } from './times.ts'

const DAY_MS = 86_400_000

/**
 * Returns what a time means that the clock of the viewer skips or shows twice, as it does when summer time begins and ends;
 * null: the clock shows it once.
 * @param local A time without a zone, such as "2026-11-01T01:30".
 */
export function clockChangeText(local: string, nowMs?: number): string | null {
  const at = new Date(local)
  const atMs = at.getTime()
  if (Number.isNaN(atMs)) return null
  const meant = clockTime(atMs / 1000, undefined, nowMs)
  if (readingOf(at) !== local.slice(0, readingOf(at).length)) return `Your clock skips this time: ${meant} is meant.`
  const changeMs = 60_000 * (offsetAt(atMs + DAY_MS) - offsetAt(atMs - DAY_MS))
  const isTwice = changeMs > 0 && readingOf(new Date(atMs + changeMs)) === readingOf(at)
  return isTwice ? `Your clock shows this time twice: the first, ${meant}, is meant.` : null
}

/** @returns Minutes by which the clock is behind UTC. */
function offsetAt(ms: number): number {
  return new Date(ms).getTimezoneOffset()
}

/** Returns what the clock shows, such as "2026-11-01T01:30". */
function readingOf(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}
