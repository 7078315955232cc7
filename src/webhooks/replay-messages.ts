import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { rescheduleLane } from './store-lanes.ts'
import { type ReplayFilter, requeueParkedMessages } from './store-parked.ts'
import { getWebhook, lockWebhook } from './store.ts'
import { webhookName } from './webhook.ts'

/** Bounds one transaction, during which the router waits for the lane. */
const BATCH = { count: 500, bytes: 4 * 1024 * 1024 }
/** Bounds one request. */
const MAX_BATCHES = 20

/**
 * Returns parked messages to the queue of their webhook, with the same ids and bytes, oldest first.
 * @returns How many; as many again may be left if it is 10,000.
 */
export async function replayMessages(
  ctx: Context,
  scope: PlaceScope,
  { id, filter }: { readonly id: string; readonly filter: ReplayFilter },
): Promise<number> {
  await getWebhook(ctx.db, scope, id)
  let replayed = 0
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const moved = await replayBatch(ctx, scope, { id, filter })
    if (moved === 0) break
    replayed += moved
  }
  return replayed
}

async function replayBatch(
  ctx: Context,
  scope: PlaceScope,
  { id, filter }: { readonly id: string; readonly filter: ReplayFilter },
): Promise<number> {
  const at = ctx.clock.now()
  const lane = { orgId: scope.orgId, webhookId: id }
  return inTx(ctx, async (tx) => {
    const { doc } = await lockWebhook(tx, scope, id)
    const moved = await requeueParkedMessages(tx, lane, { filter, limits: BATCH, at })
    if (moved === 0) return 0
    const message = `Replay ${moved} ${moved === 1 ? 'message' : 'messages'} of Webhook "${webhookName(doc)}"`
    await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), at })
    await rescheduleLane(tx, lane)
    wakeAfterCommit(tx, 'deliveries', [id])
    return moved
  })
}
