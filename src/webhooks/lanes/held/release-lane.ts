import type { Context } from '../../../platform/context.ts'
import { disableGoneWebhook } from '../../health/disable-webhook.ts'
import { IDLE_AFTER_FAILURE_MS } from './decide-idle.ts'
import { latest } from '../decide-lane.ts'
import { type LaneState, isLeft } from './lane-state.ts'

/**
 * Writes what a held lane has learned and ends its lease, once nothing of it runs.
 * @returns True if messages are left that may be due.
 */
export async function releaseLane(ctx: Context, state: LaneState, nowMs: () => number): Promise<boolean> {
  const { lane, flusher, outcomes, pace, requests, results } = state
  if (outcomes.isGone()) {
    // The messages that the lane has written stay, but an event that is not a message by then finds no webhook.
    await flusher.flush()
    // This comes before the release of the lane, so that the next claim sees it.
    await disableGoneWebhook(ctx, lane)
  }
  const health = outcomes.health()
  const openUntil = latest(health.openUntil, pace.nextAt())
  const released = results.release({ ...health, openUntil, slotSeconds: requests.tookMs() / 1000 })
  // Events that come before the release need a claim.
  if (isLeft(state) || nowMs() - state.idleSinceMs < IDLE_AFTER_FAILURE_MS) void flusher.flush()
  await released
  return isLeft(state)
}
