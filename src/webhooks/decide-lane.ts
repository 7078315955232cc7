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

/** Requests that a lane may have in flight. */
const MAX_WIDTH = 8

/**
 * How many requests follow one that has ended. A turn begins with one, and every success adds one, so a
 * receiver that is down or has just come back gets few.
 *
 * @param others Requests that the lane still has in flight.
 */
export function decideFollowers(succeeded: boolean, others: number): number {
  if (succeeded) return Math.min(2, MAX_WIDTH - others)
  return others === 0 ? 1 : 0
}
