import type { Context } from '../../platform/context.ts'
import { isPassingError } from '../../platform/database/database-errors.ts'
import { inTx, onQueues } from '../../platform/database/db.ts'
import { splitByBytes } from '../../platform/database/split.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { listWaitingLanes, shiftLanes } from '../lanes/store-clock.ts'
import { MESSAGES_PER_STATEMENT } from '../lanes/store-order.ts'
import type { LaneKey } from '../lanes/store.ts'
import { createClockSteps } from './clock-steps.ts'

/** Lanes whose times are to be made earlier by `ms`. */
interface Shift {
  readonly lanes: readonly LaneKey[]
  readonly ms: number
}

export interface ClockFollowerOptions {
  /** See createClockSteps(). */
  readonly monotonicMs: () => number
  /** By how much the clock was set back while the service did not run. */
  readonly startBackMs: number
}

/** Bounds the lanes of a transaction. A lane with more messages than a statement shifts has a transaction of its own. */
const MAX_LANES = 500

/**
 * Returns a function that makes the times earlier for which lanes wait, if the wall clock was set back since its last call, or before the
 * start: those of a portion of the lanes at each call, so that others are claimed in between. Lanes for which the database is not
 * available are left for a later call.
 *
 * @returns A function that returns true if it is to be called again soon, because lanes are left.
 */
export function createClockFollower(
  ctx: Context,
  { monotonicMs, startBackMs }: ClockFollowerOptions,
): () => Promise<boolean> {
  const takeStep = createClockSteps(() => ctx.clock.now().getTime(), monotonicMs)
  let backMs = startBackMs
  const left: Shift[] = []

  async function addStep(): Promise<void> {
    const waiting = await listWaitingLanes(ctx.db, ctx.clock.now())
    // Not before: the database may be gone, and the next round tries again.
    const ms = backMs
    backMs = 0
    const limits = { count: MAX_LANES, bytes: MESSAGES_PER_STATEMENT }
    for (const lanes of splitByBytes(waiting, ({ messages }) => messages, limits)) left.push({ lanes, ms })
    ctx.log.warn({ ms, lanes: waiting.length }, 'the clock was set back, and webhooks wait less')
  }

  const shift = ({ lanes, ms }: Shift): Promise<void> =>
    inTx(onQueues(ctx), async (tx) => {
      await shiftLanes(tx, lanes, { now: ctx.clock.now(), ms })
      wakeAfterCommit(
        tx,
        'deliveries',
        lanes.map(({ webhookId }) => webhookId),
      )
    })

  return async () => {
    backMs += takeStep()
    if (backMs > 0) await addStep()
    const part = left.shift()
    if (part === undefined) return false
    try {
      await shift(part)
      return left.length > 0
    } catch (error) {
      const { lanes, ms } = part
      const isPassing = isPassingError(error)
      if (isPassing) left.push(part)
      else if (lanes.length > 1) left.push(...lanes.map((lane) => ({ lanes: [lane], ms })))
      ctx.log.error(
        { err: error, lanes: lanes.length, lane: lanes[0] },
        'webhooks wait as if the clock were not set back',
      )
      return !isPassing && left.length > 0
    }
  }
}
