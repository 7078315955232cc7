import { decideIdleMs } from './decide-idle.ts'
import { type LaneState, isIdle } from './lane-state.ts'
import type { KnownLane } from '../store.ts'

/** The time of a held lane, and for how long it is held idle at least. */
interface Holding {
  readonly nowMs: number
  readonly minIdleMs: number
}

/** Does the same as HeldLane.stateToConfirm(). */
export function stateToConfirm(state: LaneState, afterMs: number, { nowMs, minIdleMs }: Holding): KnownLane | null {
  const { lane, lease, outcomes, requests } = state
  // The row of a lane that was claimed stays due until its release, so it can't be confirmed.
  if (!state.isSimple || state.closing || !state.hasAll || lane.last !== null) return null
  if (outcomes.hasFailed() || outcomes.health().failures > 0 || !lease.isToConfirm(afterMs)) return null
  const { orgId, webhookId, epoch, webhook } = lane
  // The lease of an idle lane suffices for the time that it is held.
  const isUsed = !isIdle(state) || nowMs - state.idleSinceMs < minIdleMs
  const extend = isUsed && lease.isToExtend()
  return { orgId, webhookId, epoch, version: webhook.version, extend, slotSeconds: requests.tookMs() / 1000 }
}

/** Does the same as HeldLane.confirm(). */
export function confirmLane({ lease, requests }: LaneState, atMs: number, extended: KnownLane | null): void {
  lease.confirm(atMs, extended !== null)
  if (extended === null) return
  requests.subtractMs(extended.slotSeconds * 1000)
  requests.renewReceiver()
}

/**
 * Closes a held lane that has been idle, or not confirmed, for long enough, and corrects the count of another idle one.
 * @param lanes How many lanes are held.
 */
export function ageLane(state: LaneState, lanes: number, { nowMs, minIdleMs }: Holding): void {
  const { lease, outcomes, pace, results } = state
  const idleMs = isIdle(state) ? nowMs - state.idleSinceMs : 0
  const usedMs = state.idleSinceMs - state.heldMs
  const idle = { usedMs, accepts: state.isSimple, hasFailedMessage: outcomes.hasFailed(), lanes, minIdleMs }
  if (idleMs >= decideIdleMs(idle) || !lease.isConfirmed()) state.closing = true
  else if (!pace.isLimited && idleMs >= minIdleMs) results.correctCount()
}
