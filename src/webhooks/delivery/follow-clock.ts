import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
import { listWaitingLanes, shiftLane } from '../lanes/store-clock.ts'
import { createClockSteps } from './clock-steps.ts'

/**
 * Returns a function that makes the times earlier for which lanes wait, if the wall clock was set back since its last call.
 *
 * @param monotonicMs See createClockSteps().
 */
export function createClockFollower(ctx: Context, monotonicMs: () => number): () => Promise<void> {
  const takeStep = createClockSteps(() => ctx.clock.now().getTime(), monotonicMs)
  let backMs = 0
  return async () => {
    backMs += takeStep()
    if (backMs === 0) return
    const now = ctx.clock.now()
    const lanes = await listWaitingLanes(ctx.db, now)
    // Not before: the database may be gone, and the next round tries again.
    const ms = backMs
    backMs = 0
    ctx.log.warn({ ms, lanes: lanes.length }, 'the clock was set back, and webhooks wait less')
    await eachInTurn(
      lanes,
      (lane) =>
        inTx(ctx, async (tx) => {
          await shiftLane(tx, lane, { now, ms })
          wakeAfterCommit(tx, 'deliveries', [lane.webhookId])
        }),
      (error, lane) => ctx.log.error({ err: error, ...lane }, 'a webhook waits as if the clock were not set back'),
    )
  }
}
