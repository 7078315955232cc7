import { systemScopeOf } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
import { addMs } from '../../platform/time/clock.ts'
import { lockWebhookIfAny } from '../store.ts'
import { type ServiceTime, UNWATCHED_MS, decideUnfetched } from './decide-unfetched.ts'
import { type UnfetchedLane, listUnfetchedLanes, markUnfetched, updateUnfetched } from './store-unfetched.ts'

/**
 * Records which receivers no longer fetch their messages, so that they count as failing until they acknowledge one.
 * @throws Error if that failed for some webhooks; all others have had their turn then.
 */
export async function watchUnfetched(ctx: Context): Promise<void> {
  const { clock, serviceClock } = ctx
  const time = { now: clock.now(), nowMs: serviceClock.nowMs(), listeningSinceMs: serviceClock.listeningSinceMs() }
  const lanes = await listUnfetchedLanes(ctx.db, { before: addMs(time.now, -UNWATCHED_MS) })
  await eachInTurn(
    lanes.filter((lane) => isNews(lane, time)),
    (lane) => inTx(ctx, (tx) => recordUnfetched(tx, lane, time)),
    (error, { orgId, webhookId }) =>
      ctx.log.error({ err: error, orgId, webhookId }, 'a failing webhook could not be noted; trying again later'),
  )
}

function isNews(lane: UnfetchedLane, time: ServiceTime): boolean {
  const { isFailing, recordMs } = decideUnfetched(lane, time)
  return isFailing || recordMs !== null
}

async function recordUnfetched(tx: Tx, { orgId, webhookId, siteId }: UnfetchedLane, time: ServiceTime): Promise<void> {
  const row = await lockWebhookIfAny(tx, systemScopeOf('webhooks', { orgId, siteId }), webhookId)
  // It was read without a lock: its receiver may have acknowledged messages since.
  const search = { before: addMs(time.now, -UNWATCHED_MS), only: { orgId, webhookId } }
  const [lane] = row === undefined ? [] : await listUnfetchedLanes(tx, search)
  if (lane === undefined) return
  const { isFailing, recordMs } = decideUnfetched(lane, time)
  if (isFailing) await markUnfetched(tx, lane)
  else if (recordMs !== null) await updateUnfetched(tx, lane, recordMs)
}
