/** How long a held lane may go on without asking the database. Times are in milliseconds of one clock. */
export interface LaneLease {
  /** False if the webhook may have changed since it was confirmed: then the lane starts no further message. */
  isConfirmed(): boolean
  /** True if the lane was confirmed at least `afterMs` ago, and its lease lasts for long enough to hold it longer. */
  isToConfirm(afterMs: number): boolean
  /** True if the lease should be extended when it is confirmed. */
  isToExtend(): boolean
  /** Lets the lane go on as if it had been leased at this time. @param isExtended True if the lease was extended. */
  confirm(atMs: number, isExtended: boolean): void
}

/** Must exceed the longest turn of a lane: the time for which it is held, one request and the write of its results. */
export const LEASE_MS = 60_000
/** After this time a lane starts no further message, so that a change of the webhook takes effect soon. */
export const START_WITHIN_MS = 3000
/**
 * Limits how long after its lease a lane is confirmed: for less time than the lease, because requests end and results are
 * written after it. A request with two access tokens may take longer: nobody claims the lane then, because this process leaves
 * out the lanes that it has, and no other one runs.
 */
const MAX_HELD_MS = 30_000
/** The lease of a lane in steady use is extended from this time on. */
const EXTEND_AFTER_MS = 10_000

/** @param nowMs The clock, on which the lease begins now. */
export function createLaneLease(nowMs: () => number): LaneLease {
  let leasedMs = nowMs()
  let confirmedMs = leasedMs
  return {
    isConfirmed: () => nowMs() - confirmedMs < START_WITHIN_MS,
    isToConfirm: (afterMs) => nowMs() - confirmedMs >= afterMs && nowMs() - leasedMs <= MAX_HELD_MS,
    isToExtend: () => nowMs() - leasedMs > EXTEND_AFTER_MS,
    confirm(atMs, isExtended) {
      confirmedMs = atMs
      if (isExtended) leasedMs = atMs
    },
  }
}
