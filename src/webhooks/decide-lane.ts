/** A lane's record of its receiver's failures. */
export interface LaneHealth {
  /** Failed attempts since the last success. */
  readonly failures: number
  /** Until then only pings are sent. */
  readonly openUntil: Date | null
}

/** After this many failures in a row the breaker opens: one probe follows each pause until a probe succeeds. */
export const BREAKER_FAILURES = 5

const FIRST_PAUSE_MS = 5000
const MAX_PAUSE_MS = 5 * 60_000

/** Returns the lane's health after an attempt other than a ping. */
export function decideHealth(before: LaneHealth, succeeded: boolean, now: Date): LaneHealth {
  if (succeeded) return { failures: 0, openUntil: null }
  const failures = before.failures + 1
  if (failures < BREAKER_FAILURES) return { failures, openUntil: null }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - BREAKER_FAILURES), MAX_PAUSE_MS)
  return { failures, openUntil: new Date(now.getTime() + pauseMs) }
}

/** How many requests a lane may have in flight. */
const MAX_WIDTH = 8

/** How many requests a lane has in flight at first. */
export const FIRST_WIDTH = 1

/**
 * Decides how many requests a lane may have in flight after one has ended. Every success adds one and every failure takes
 * one, so a receiver that is down or has just recovered gets few.
 */
export function decideWidth(width: number, succeeded: boolean): number {
  return succeeded ? Math.min(width + 1, MAX_WIDTH) : Math.max(width - 1, FIRST_WIDTH)
}
