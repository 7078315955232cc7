import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import type { Task } from '../platform/jobs.ts'
import { preparePartitions } from './partitions.ts'
import { listDoubtfulLanes, lockLanes, recountLanes } from './store-lanes.ts'

/** The chores of webhooks, for startJobs(). */
export function webhookTasks(ctx: Context): Task[] {
  return [
    { name: 'webhook_partitions', cron: '10 0 * * *', run: () => preparePartitions(ctx) },
    {
      name: 'webhook_sweep',
      cron: '* * * * *',
      run: async () => {
        await sweepLanes(ctx)
      },
    },
  ]
}

/**
 * Puts right what lanes say of their messages. They are kept right with every change: anything found
 * is a defect, logged as such, that would have kept messages from being sent.
 *
 * @returns How many lanes were wrong.
 */
export async function sweepLanes(ctx: Context): Promise<number> {
  let wrong = 0
  for (const lane of await listDoubtfulLanes(ctx.db)) {
    wrong += await inTx(ctx, async (tx) => {
      await lockLanes(tx, [lane])
      // Others may have been at work when the lane was read without a lock.
      const [still] = await listDoubtfulLanes(tx, lane)
      if (still === undefined) return 0
      await recountLanes(tx, [lane])
      return 1
    })
  }
  if (wrong > 0) {
    ctx.log.error({ lanes: wrong }, 'webhook lanes were out of step with their messages')
    ctx.wakes.wake('deliveries')
  }
  return wrong
}
