import { uuidv7 } from 'uuidv7'
import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import type { TopicEvents } from '../events/topics.ts'
import { epochS } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { messageBody } from './plan-messages.ts'
import { lockWebhook } from './store.ts'
import { enqueueMessages } from './store-enqueue.ts'
import { rescheduleLane } from './store-lanes.ts'
import { webhookName } from './webhook.ts'

/** Queues one test delivery, even for a disabled webhook. The delivery records show its outcome. */
export async function pingWebhook(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  const { orgId } = scope
  await inTx(ctx, async (tx) => {
    const { doc } = await lockWebhook(tx, scope, id)
    const siteId = siteIdOf(scope)
    const event: TopicEvents['ping'] = {
      id,
      name: webhookName(doc),
      ...(siteId !== null && { site_id: siteId }),
      timestamp: epochS(at),
    }
    const body = messageBody('ping', [{ json: JSON.stringify(event) }])
    const message = { orgId, id: uuidv7(), webhookId: id, topic: 'ping', body, eventCount: 1, orderKey: null }
    await enqueueMessages(tx, [message], at)
    // An open breaker does not delay a ping.
    await rescheduleLane(tx, { orgId, webhookId: id })
    wakeAfterCommit(tx, 'deliveries', [id])
  })
}
