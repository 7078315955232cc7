/**
 * The time in which devices that a gateway has lost, because it stopped or died, may come back without counting as
 * disconnected. Access points try again 10, 20, 30 ... 900 s after the last try, so how soon they come depends on how
 * long they have tried: the grace covers two tries of each. If some are refused because too many come at once, it continues
 * while others come back. Switches try every 5 s.
 */
export interface Grace {
  /** The number of lost devices that have not come back. */
  readonly lost: number
  /** When a listening gateway first saw that they were lost. */
  readonly beganMs: number
  /** How long the earliest of them had been retrying at that time. */
  readonly outageMs: number
  /** When a lost device last came back; at first, the beginning. */
  readonly returnedMs: number
  /** True once the devices that are still lost count as down. */
  readonly isOver: boolean
}

const STEP_MS = 10_000
const LONGEST_STEP_MS = 900_000
/** The time from a device's try until it is connected or knows that it failed. */
const TRY_MS = 15_000
const MIN_MS = 60_000
/** One attempt after the longest pause. */
const MAX_MS = LONGEST_STEP_MS + 4 * TRY_MS

/**
 * @param before The last decision; null = no device was lost.
 * @param seen.lost The number of devices that are lost now.
 * @param seen.outageMs How long ago the first of them was lost.
 */
export function updateGrace(
  before: Grace | null,
  seen: { readonly lost: number; readonly outageMs: number },
  nowMs: number,
): Grace | null {
  const { lost, outageMs } = seen
  if (lost === 0) return null
  if (before === null || lost > before.lost)
    return { lost, beganMs: nowMs, outageMs: Math.max(0, outageMs), returnedMs: nowMs, isOver: false }
  if (before.isOver) return { ...before, lost }
  const grace = { ...before, lost, returnedMs: lost < before.lost ? nowMs : before.returnedMs }
  return { ...grace, isOver: hasEnded(grace, nowMs) }
}

function hasEnded({ beganMs, outageMs, returnedMs }: Grace, nowMs: number): boolean {
  const listenedMs = nowMs - beganMs
  const pauseMs = pauseAfter(outageMs)
  // A try may have been in progress when the gateway began to listen, and fail.
  const twoTriesMs = pauseMs + pauseAfter(outageMs + pauseMs) + 3 * TRY_MS
  const hasEbbed = nowMs - returnedMs >= pauseAfter(outageMs + listenedMs) + 2 * TRY_MS
  return listenedMs >= MAX_MS || (listenedMs >= Math.max(MIN_MS, twoTriesMs) && hasEbbed)
}

/** Returns the longest pause between two tries of an access point that lost its gateway `lostMs` ago. */
function pauseAfter(lostMs: number): number {
  // The k-th try is at least 10 + 20 + ... + 10 k s after the loss, which is 5 k (k + 1) s.
  const tries = Math.floor((Math.sqrt(1 + (8 * lostMs) / STEP_MS) - 1) / 2)
  return Math.min(LONGEST_STEP_MS, (tries + 1) * STEP_MS)
}
