import { systemScopeOf } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
import { addMs } from '../../platform/time/clock.ts'
import { lockWebhookIfAny } from '../store.ts'
import { type UnfetchedLane, listUnfetchedLanes, markUnfetched } from './store-unfetched.ts'

/** Many receivers fetch once a day. After a week their messages are parked. */
const UNFETCHED_MS = 24 * 3600e3

/**
 * Records which receivers no longer fetch their messages, so that they count as failing until they acknowledge one.
 * @throws Error if that failed for some webhooks; all others have had their turn then.
 */
export async function watchUnfetched(ctx: Context): Promise<void> {
  const before = addMs(ctx.clock.now(), -UNFETCHED_MS)
  await eachInTurn(
    await listUnfetchedLanes(ctx.db, { before }),
    (lane) => inTx(ctx, (tx) => recordUnfetched(tx, lane, before)),
    (error, { orgId, webhookId }) =>
      ctx.log.error({ err: error, orgId, webhookId }, 'a failing webhook could not be noted; trying again later'),
  )
}

async function recordUnfetched(tx: Tx, { orgId, webhookId, siteId }: UnfetchedLane, before: Date): Promise<void> {
  const row = await lockWebhookIfAny(tx, systemScopeOf('webhooks', { orgId, siteId }), webhookId)
  // It was read without a lock: its receiver may have acknowledged messages since.
  const [lane] = row === undefined ? [] : await listUnfetchedLanes(tx, { before, only: { orgId, webhookId } })
  if (lane !== undefined) await markUnfetched(tx, lane)
}
