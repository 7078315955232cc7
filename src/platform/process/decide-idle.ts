/** A process that takes more of one processor than this is busy. One that only waits takes 0.01 to 0.02. */
const BUSY_PART = 0.06
/** It is idle again once it has taken less than this for a while. */
const IDLE_PART = 0.03
const IDLE_AFTER_MS = 30_000
/** The weight of the newest measurement in the average, so that a short turn alone does not count as load. */
const WEIGHT = 0.25

/** Whether a process has little to do. */
export interface Idleness {
  readonly isIdle: boolean
  /** The average of what it takes, in processors. */
  readonly part: number
  /** When it last took more than an idle process, by a monotonic clock. */
  readonly activeMs: number
}

/** A process begins as an idle one. */
export const idle: Idleness = { isIdle: true, part: 0, activeMs: 0 }

interface Moment {
  /** The processor time of all threads since the last moment, in processors. */
  readonly part: number
  /** Monotonic milliseconds. */
  readonly nowMs: number
}

/** Load counts almost immediately, idleness only after a while, so that a process does not change with each burst. */
export function decideIdle(before: Idleness, now: Moment): Idleness {
  const part = before.part + (now.part - before.part) * WEIGHT
  const activeMs = part < IDLE_PART ? before.activeMs : now.nowMs
  const isIdle = before.isIdle ? part <= BUSY_PART : now.nowMs - activeMs >= IDLE_AFTER_MS
  return { isIdle, part, activeMs }
}
