import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { addPartition, dropPartitionsBefore } from './store-partitions.ts'

const DAY_MS = 24 * 3600e3
/** Days ahead, so that a chore that fails for some days costs nothing. */
const DAYS_AHEAD = 3

/** How long deliveries are kept, and what was sent and answered. */
const keptDays = { webhook_delivery: 30, webhook_body: 7 } as const

/** Makes the partitions of today and the next days and drops those that are too old. Safe to repeat. */
export async function preparePartitions(ctx: Context): Promise<void> {
  const todayMs = Math.floor(ctx.clock.now().getTime() / DAY_MS) * DAY_MS
  for (const [table, days] of Object.entries(keptDays)) {
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1)
      await inTx(ctx, (tx) => addPartition(tx, table, new Date(todayMs + ahead * DAY_MS)))
    await inTx(ctx, (tx) => dropPartitionsBefore(tx, table, new Date(todayMs - days * DAY_MS)))
  }
}
