import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { wakeAfterCommit } from '../../../platform/database/wakes.ts'
import { requeueSetAsideEvents } from '../../../events/store-outbox.ts'

/** Returns all events that were set aside to the router. @returns How many there were. */
export async function retrySetAsideEvents(ctx: Context): Promise<number> {
  return inTx(ctx, async (tx) => {
    wakeAfterCommit(tx, 'outbox')
    return requeueSetAsideEvents(tx)
  })
}
