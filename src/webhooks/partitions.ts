import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { createPartition, dropPartitionsBefore } from './store-partitions.ts'

const DAY_MS = 24 * 3600e3
/** How many days ahead partitions are created, so that the chore may fail for some days. */
const DAYS_AHEAD = 3

/** How long delivery records and their requests and responses are kept. */
const keptDays = { webhook_delivery: 30, webhook_body: 7 } as const

/** Creates the partitions of today and the next days and drops expired ones. Safe to repeat. */
export async function preparePartitions(ctx: Context): Promise<void> {
  const todayMs = Math.floor(ctx.clock.now().getTime() / DAY_MS) * DAY_MS
  for (const [table, days] of Object.entries(keptDays)) {
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1)
      await inTx(ctx, (tx) => createPartition(tx, table, new Date(todayMs + ahead * DAY_MS)))
    await inTx(ctx, (tx) => dropPartitionsBefore(tx, table, new Date(todayMs - days * DAY_MS)))
  }
}
