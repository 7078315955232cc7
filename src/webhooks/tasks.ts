import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { preparePartitions } from '../platform/database/partitions.ts'
import { eachInTurn } from '../platform/queues/each-in-turn.ts'
import type { Task } from '../platform/time/jobs.ts'
import type { Mailer } from '../platform/outbound/mail.ts'
import { keptDays } from './partitions.ts'
import { expireMessages } from './expiry/expire-messages.ts'
import { expireParkedMessages, expireSetAsideEvents } from './expiry/expire-stored.ts'
import { watchFailing } from './health/watch-failing.ts'
import { watchUnfetched } from './health/watch-unfetched.ts'
import { type DoubtfulLane, type LaneKey, listDoubtfulLanes, lockLanes, recountLanes } from './lanes/store.ts'

/** Returns the chores of webhooks, for startJobs(). */
export function webhookTasks(ctx: Context, mailer: Mailer): Task[] {
  return [
    { name: 'webhook_partitions', cron: '10 0 * * *', run: () => preparePartitions(ctx, keptDays) },
    {
      name: 'webhook_sweep',
      cron: '* * * * *',
      run: async () => {
        await sweepLanes(ctx)
      },
    },
    { name: 'webhook_failing', cron: '* * * * *', run: () => watchFailing(ctx, mailer) },
    { name: 'webhook_unfetched', cron: '* * * * *', run: () => watchUnfetched(ctx) },
    { name: 'webhook_expiry', cron: '20 * * * *', run: (_payload, signal) => runExpiry(ctx, signal) },
  ]
}

const expirySteps = [
  { step: 'waiting messages', run: expireMessages },
  { step: 'parked messages', run: expireParkedMessages },
  { step: 'events set aside', run: expireSetAsideEvents },
] as const

/** Parks and deletes what has been stored for long enough. Each step has its turn, whatever happens to the others. */
export async function runExpiry(ctx: Context, signal?: AbortSignal): Promise<void> {
  const run = async (of: (typeof expirySteps)[number]): Promise<void> => {
    await of.run(ctx, signal)
  }
  await eachInTurn(expirySteps, run, (error, { step }) =>
    ctx.log.error({ err: error, step }, 'a step of webhook_expiry failed; trying again later'),
  )
}

/**
 * Corrects the counts and due times of lanes. After a crash a lane may count messages that it does not have any more, because its
 * holder could not say so, or may have an expired lease: this chore may run before the start ends the leases of the previous run.
 * Any other wrong lane is a defect, which would have prevented messages from being sent and is logged as an error.
 *
 * @returns The number of defects.
 * @throws Error if some lanes could not be corrected; all others are then.
 */
export async function sweepLanes(ctx: Context): Promise<number> {
  const [defects, left] = [[] as LaneKey[], [] as LaneKey[]]
  const sweep = async (lane: LaneKey): Promise<void> => {
    const still = await inTx(ctx, (tx) => correctLane(tx, lane, ctx.clock.now()))
    if (still !== undefined) (still.isDefect ? defects : left).push(lane)
  }
  try {
    await eachInTurn(await listDoubtfulLanes(ctx.db, ctx.clock.now()), sweep, (error, { orgId, webhookId }) =>
      ctx.log.error({ err: error, orgId, webhookId }, 'a webhook lane could not be corrected; trying again later'),
    )
  } finally {
    report(ctx, { defects, left })
  }
  return defects.length
}

/** @returns What was wrong with the lane; undefined if nothing is, because another transaction was changing it when it was read. */
async function correctLane(tx: Tx, lane: LaneKey, now: Date): Promise<DoubtfulLane | undefined> {
  await lockLanes(tx, [lane])
  const [still] = await listDoubtfulLanes(tx, now, lane)
  if (still !== undefined) await recountLanes(tx, [lane])
  return still
}

interface SweptLanes {
  readonly defects: readonly LaneKey[]
  /** Those that their holder has left as they were. */
  readonly left: readonly LaneKey[]
}

function report(ctx: Context, { defects, left }: SweptLanes): void {
  if (left.length > 0) ctx.log.info({ lanes: left.length }, 'corrected webhook lanes that their holder had left')
  if (defects.length > 0) {
    ctx.log.error({ lanes: defects.length }, 'webhook lanes were out of step with their messages')
    ctx.wakes.wake('deliveries')
  }
}
