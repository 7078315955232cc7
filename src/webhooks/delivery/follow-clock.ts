import type { Context } from '../../platform/context.ts'
import { isPassingError } from '../../platform/database/database-errors.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { listWaitingLanes, shiftLane } from '../lanes/store-clock.ts'
import type { LaneKey } from '../lanes/store.ts'
import { createClockSteps } from './clock-steps.ts'

/** A lane whose times are to be made earlier by so much. */
interface Shift {
  readonly lane: LaneKey
  readonly ms: number
}

/**
 * Returns a function that makes the times earlier for which lanes wait, if the wall clock was set back since its last call.
 * Lanes for which the database is not available are left for the next call.
 *
 * @param monotonicMs See createClockSteps().
 */
export function createClockFollower(ctx: Context, monotonicMs: () => number): () => Promise<void> {
  const takeStep = createClockSteps(() => ctx.clock.now().getTime(), monotonicMs)
  let backMs = 0
  const left: Shift[] = []

  async function addStep(): Promise<void> {
    const lanes = await listWaitingLanes(ctx.db, ctx.clock.now())
    // Not before: the database may be gone, and the next round tries again.
    const ms = backMs
    backMs = 0
    for (const lane of lanes) left.push({ lane, ms })
    ctx.log.warn({ ms, lanes: lanes.length }, 'the clock was set back, and webhooks wait less')
  }

  const shift = ({ lane, ms }: Shift): Promise<void> =>
    inTx(ctx, async (tx) => {
      await shiftLane(tx, lane, { now: ctx.clock.now(), ms })
      wakeAfterCommit(tx, 'deliveries', [lane.webhookId])
    })

  return async () => {
    backMs += takeStep()
    if (backMs > 0) await addStep()
    for (const part of left.splice(0))
      try {
        await shift(part)
      } catch (error) {
        if (isPassingError(error)) left.push(part)
        ctx.log.error({ err: error, ...part.lane }, 'a webhook waits as if the clock were not set back')
      }
  }
}
