import type { Context } from '../../../platform/context.ts'
import { MAX_LANE_BYTES, type MessagePlace, listDueMessages } from '../../delivery/store-due.ts'
import { MAX_IN_MEMORY } from '../../limits/limits.ts'
import { BREAKER_FAILURES } from '../decide-lane.ts'
import type { LaneState } from './lane-state.ts'

/** Looks up the messages behind those with which a lane was claimed, while these are sent. */
export interface FurtherMessages {
  /** True while messages are looked up: the lane waits for them. */
  isPending(): boolean
  /** Looks up more messages if few are left in memory. Must be called when messages have started. */
  check(): void
}

/** A lane with fewer messages in memory looks up more. A fast receiver takes as many while they are looked up. */
const FEW_MESSAGES = 64
const FEW_BYTES = MAX_LANE_BYTES / 2

/**
 * Without it, a claim would have to wait until all requests have ended: for large messages, of which a claim finds few, that takes
 * as long as to send them. What is routed meanwhile is not accepted by a lane that lacks messages, so none is found twice.
 *
 * @param proceed Called when the lane may go on.
 */
export function createFurtherMessages(ctx: Context, state: LaneState, proceed: () => void): FurtherMessages {
  const { lane, order, waiting, outcomes, pace } = state
  // A claim decides which messages of an order may be sent, and a limited lane would not start them soon. While the row says that
  // the breaker is open, no more than one is found.
  const isProbe = lane.failures >= BREAKER_FAILURES
  let last = lane.hasAll || order !== null || pace.isLimited || isProbe ? null : lane.last
  let isPending = false

  async function add(after: MessagePlace): Promise<void> {
    last = null
    try {
      const limits = { now: ctx.clock.now(), maxBytes: MAX_LANE_BYTES, limit: MAX_IN_MEMORY - FEW_MESSAGES }
      const found = (await listDueMessages(ctx.queueDb, [{ ...lane, after }], limits)).get(lane.webhookId)
      // Behind one that does not fit, none may be added.
      const areAdded = !state.closing && found?.messages.every((message) => waiting.add(message))
      if (found !== undefined && areAdded) last = found.hasAll ? null : found.last
    } catch (error) {
      ctx.log.warn({ err: error, webhookId: lane.webhookId }, 'further messages of a lane could not be looked up')
    }
    isPending = false
    proceed()
  }

  return {
    isPending: () => isPending,
    check() {
      if (last === null || isPending || state.closing) return
      // A message that failed may be due before those behind it.
      if (outcomes.hasFailed() || outcomes.health().failures > 0) return
      if (waiting.count() >= FEW_MESSAGES || waiting.bytes() >= FEW_BYTES) return
      isPending = true
      void add(last)
    },
  }
}
