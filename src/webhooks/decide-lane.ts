/** What a lane remembers of how its receiver has behaved. */
export interface LaneHealth {
  /** Failed attempts since the last success. */
  readonly failures: number
  /** Until when nothing but pings is sent. */
  readonly openUntil: Date | null
}

/** From this many failures in a row on, the breaker is open: one probe after each pause, until one succeeds. */
export const BREAKER_FAILURES = 5

const FIRST_PAUSE_MS = 5000
const MAX_PAUSE_MS = 5 * 60_000

/** The lane's health after an attempt other than a ping. */
export function decideHealth(before: LaneHealth, succeeded: boolean, now: Date): LaneHealth {
  if (succeeded) return { failures: 0, openUntil: null }
  const failures = before.failures + 1
  if (failures < BREAKER_FAILURES) return { failures, openUntil: null }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - BREAKER_FAILURES), MAX_PAUSE_MS)
  return { failures, openUntil: new Date(now.getTime() + pauseMs) }
}

const MAX_WIDTH = 8
/** Requests that take longer than this on average share a part of the slots, so that they don't use up all. */
const SLOW_MS = 2000

/** How a lane may be used next: requests at a time, and whether it counts as slow. */
export interface LanePace {
  readonly width: number
  readonly slow: boolean
}

/** Slow start, as for a receiver that has just come back. */
export const firstPace: LanePace = { width: 1, slow: false }

/** The pace after a round of `durationsMs`; any failure starts again with one request at a time. */
export function decidePace(before: LanePace, durationsMs: readonly number[], failed: boolean): LanePace {
  if (durationsMs.length === 0) return before
  const averageMs = durationsMs.reduce((sum, ms) => sum + ms, 0) / durationsMs.length
  return { width: failed ? 1 : Math.min(before.width * 2, MAX_WIDTH), slow: averageMs > SLOW_MS }
}
