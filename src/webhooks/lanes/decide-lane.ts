import { addMs } from '../../platform/time/clock.ts'

/** A lane's record of its receiver's failures. */
export interface LaneHealth {
  /** Failed attempts since the last success. */
  readonly failures: number
  /** The time until which only pings are sent: the breaker is open, or the receiver has requested a pause. */
  readonly openUntil: Date | null
  /** When the first of the failures was; null if there are none. */
  readonly failingSince: Date | null
}

/** The result of an attempt. */
export interface LaneAttempt {
  readonly succeeded: boolean
  /** The pause that the receiver requests; 0 if it requests none. */
  readonly askedMs: number
}

/** After this many failures in a row the breaker opens: one probe follows each pause until a probe succeeds. */
export const BREAKER_FAILURES = 5

const FIRST_PAUSE_MS = 5000
const MAX_PAUSE_MS = 60_000

/** Returns the lane's health after an attempt. An answer that requests a pause does not count as a failure of the receiver. */
export function decideHealth(before: LaneHealth, attempt: LaneAttempt, now: Date): LaneHealth {
  const { failures, openUntil, failingSince } = before
  const askedUntil = failures < BREAKER_FAILURES && openUntil !== null && openUntil > now ? openUntil : null
  // Requests that were in flight when the receiver requested the pause may still succeed; the pause applies
  // nevertheless.
  if (attempt.succeeded) return { ...healthy, openUntil: askedUntil }
  if (attempt.askedMs > 0) return { ...before, openUntil: latest(openUntil, addMs(now, attempt.askedMs)) }
  return { ...fail(failures + 1, askedUntil, now), failingSince: failingSince ?? now }
}

const healthy: LaneHealth = { failures: 0, openUntil: null, failingSince: null }

function fail(failures: number, askedUntil: Date | null, now: Date): Omit<LaneHealth, 'failingSince'> {
  if (failures < BREAKER_FAILURES) return { failures, openUntil: askedUntil }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - BREAKER_FAILURES), MAX_PAUSE_MS)
  return { failures, openUntil: latest(askedUntil, addMs(now, pauseMs)) }
}

/** Returns the later time. */
export function latest<T extends Date | null>(before: Date | null, until: T): Date | T {
  return before !== null && (until === null || before > until) ? before : until
}

/** The maximum number of requests in flight per lane. */
const MAX_WIDTH = 8

/** The initial number of requests in flight per lane. */
export const FIRST_WIDTH = 1

/**
 * Decides how many requests a lane may have in flight after one has ended. Every success adds one and every failure takes
 * one, so a receiver that is down or has just recovered gets few.
 */
export function decideWidth(width: number, succeeded: boolean): number {
  return succeeded ? Math.min(width + 1, MAX_WIDTH) : Math.max(width - 1, FIRST_WIDTH)
}
