import { uuidv7 } from '../../platform/uuidv7.ts'
import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import type { TopicEvents } from '../../events/topics.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { tooManyRequests } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isPulled } from '../delivery-options.ts'
import { messageBody } from '../routing/planning/plan-messages.ts'
import { lockWebhook } from '../store.ts'
import { enqueueMessages } from '../delivery/store-enqueue.ts'
import type { LaneKey } from '../lanes/store.ts'
import { countFetchedPings, countPings, deletePings, insertPing } from './store.ts'
import { webhookName } from '../webhook.ts'

/** Further pings of a webhook are refused: they are sent one after the other, and each may take as long as an attempt. */
const MAX_WAITING = 10
const RETRY_AFTER_S = 15

/**
 * Requests one test delivery, even for a disabled webhook. The delivery records show its outcome. A receiver that fetches
 * its messages fetches the ping with them.
 */
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
    const ping = {
      orgId,
      id: uuidv7(),
      webhookId: id,
      body: messageBody('ping', [{ json: JSON.stringify(event) }]),
    }
    const isFetched = isPulled(doc)
    const count = isFetched ? countFetchedPings : countPings
    if ((await count(tx, { orgId, webhookId: id })) >= MAX_WAITING)
      throw tooManyRequests(`${MAX_WAITING} pings of the webhook wait for its receiver.`, RETRY_AFTER_S)
    if (isFetched) {
      await enqueuePings(tx, ping, { pings: [ping], at })
      return
    }
    await insertPing(tx, { ...ping, createdAt: at })
    wakeAfterCommit(tx, 'pings')
  })
}

/** Turns pings that wait to be sent into messages that the receiver fetches. The lane of the webhook must be locked. */
export async function passPingsToFetch(tx: Tx, lane: LaneKey, at: Date): Promise<void> {
  const pings = await deletePings(tx, lane)
  if (pings.length > 0) await enqueuePings(tx, lane, { pings, at })
}

interface FetchedPings {
  readonly pings: readonly { readonly id: string; readonly body: Buffer }[]
  readonly at: Date
}

async function enqueuePings(tx: Tx, { orgId, webhookId }: LaneKey, { pings, at }: FetchedPings): Promise<void> {
  const ofPing = { topic: 'ping', eventCount: 1, orderKey: null }
  const messages = pings.map(({ id, body }) => Object.assign({ orgId, webhookId, id, body }, ofPing))
  await enqueueMessages(tx, messages, at)
}
