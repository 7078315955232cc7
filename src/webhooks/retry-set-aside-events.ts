import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { requeueSetAsideEvents } from './store-set-aside.ts'

/** Has the router try the events again that it has set aside. @returns How many. */
export async function retrySetAsideEvents(ctx: Context): Promise<number> {
  return inTx(ctx, async (tx) => {
    wakeAfterCommit(tx, 'outbox')
    return requeueSetAsideEvents(tx)
  })
}
