import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import type { HeldLane } from './held-lane.ts'
import { LEASE_MS } from './lane-lease.ts'
import { confirmLanes } from '../store.ts'

/** From this time on it is confirmed that the webhook of a lane has not changed. */
const CONFIRM_AFTER_MS = 2000
/** The same if others are confirmed, so that all take one statement. */
const CONFIRM_WITH_OTHERS_MS = 500

/**
 * Returns the function behind HeldLanes.confirm(), which takes the lanes that are held.
 * @param nowMs The clock of the lanes.
 */
export function createConfirmation(ctx: Context, nowMs: () => number): (lanes: readonly HeldLane[]) => Promise<void> {
  let isConfirming = false
  return async (lanes) => {
    const isDue = lanes.some((lane) => lane.stateToConfirm(CONFIRM_AFTER_MS) !== null)
    if (isConfirming || !isDue) return
    const unconfirmed = lanes.flatMap((lane) => {
      const known = lane.stateToConfirm(CONFIRM_WITH_OTHERS_MS)
      return known === null ? [] : [{ lane, known }]
    })
    isConfirming = true
    const atMs = nowMs()
    try {
      const now = ctx.clock.now()
      const of = { lanes: unconfirmed.map(({ known }) => known), now, leaseUntil: addMs(now, LEASE_MS) }
      const confirmed = new Map((await confirmLanes(ctx.queueDb, of)).map((lane) => [lane.webhookId, lane.isExtended]))
      for (const { lane, known } of unconfirmed) {
        const isExtended = confirmed.get(known.webhookId)
        if (isExtended === undefined) lane.closeChanged()
        else lane.confirm(atMs, isExtended ? known : null)
      }
    } catch (error) {
      // They are released soon, and leased again.
      ctx.log.warn({ err: error, lanes: unconfirmed.length }, 'lanes could not be confirmed')
    } finally {
      isConfirming = false
    }
  }
}
