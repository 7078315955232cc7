import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/db.ts'
import { splitByBytes } from '../platform/split.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { orderOf } from './delivery-options.ts'
import { planDelivered } from './plan-delivered.ts'
import { listDelivered, requeueDelivered } from './store-delivered.ts'
import { rescheduleLane } from './store-lanes.ts'
import { type ReplayFilter, replayPace, requeueParkedMessages } from './store-parked.ts'
import { getWebhook, lockWebhook } from './store.ts'
import { webhookName } from './webhook.ts'

/** Bounds one transaction, during which the router waits for the lane. */
const BATCH = { count: 500, bytes: 4 * 1024 * 1024 }
/** Bounds one request. */
const MAX_BATCHES = 20

export interface ReplayRequest {
  readonly status: 'parked' | 'delivered'
  readonly filter: ReplayFilter
}

export interface Replayed {
  readonly replayed: number
  /** Delivered messages from then on are left; null if none are. */
  readonly nextStart: Date | null
}

/** The replay of one webhook. */
interface Replay extends ReplayRequest {
  readonly id: string
}

/**
 * Returns messages to the queue of their webhook, with the same ids and bytes, oldest first. Parked messages leave the
 * parking, so a call that replays 10,000 may have left some. The queue gets a few at a time: live messages don't wait for
 * all of them.
 */
export async function replayMessages(ctx: Context, scope: PlaceScope, replay: Replay): Promise<Replayed> {
  await getWebhook(ctx.db, scope, replay.id)
  return replay.status === 'parked' ? replayParked(ctx, scope, replay) : replayDelivered(ctx, scope, replay)
}

async function replayParked(ctx: Context, scope: PlaceScope, { id, filter }: Replay): Promise<Replayed> {
  let replayed = 0
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const lane = { orgId: scope.orgId, webhookId: id }
    const before = replayed
    const requeue = (tx: Tx, { at }: BatchState): Promise<number> =>
      requeueParkedMessages(tx, lane, { filter, limits: BATCH, at, before })
    const moved = await replayBatch(ctx, scope, { id, what: 'parked', requeue })
    if (moved === 0) break
    replayed += moved
  }
  return { replayed, nextStart: null }
}

async function replayDelivered(ctx: Context, scope: PlaceScope, { id, filter }: Replay): Promise<Replayed> {
  // What this replay delivers again is not of it.
  const now = ctx.clock.now()
  const bounded = { ...filter, end: filter.end !== null && filter.end < now ? filter.end : now }
  const limits = { count: BATCH.count * MAX_BATCHES, bytes: BATCH.bytes * MAX_BATCHES }
  const found = await listDelivered(ctx.db, scope, { webhookId: id, filter: bounded, limit: limits.count + 1 })
  const { messages, nextStart } = planDelivered(found, limits)
  let [replayed, before] = [0, 0]
  for (const delivered of splitByBytes(messages, ({ length }) => length, BATCH)) {
    const place = before
    const requeue = (tx: Tx, { at, byDevice }: BatchState): Promise<number> => {
      const dueAt = (n: number): Date => addMs(at, Math.floor((place + n) / replayPace.count) * replayPace.pauseMs)
      return requeueDelivered(tx, { orgId: scope.orgId, webhookId: id }, { delivered, at, dueAt, byDevice })
    }
    replayed += await replayBatch(ctx, scope, { id, what: 'delivered', requeue })
    before += delivered.length
  }
  return { replayed, nextStart }
}

interface Batch {
  readonly id: string
  readonly what: ReplayRequest['status']
  readonly requeue: (tx: Tx, state: BatchState) => Promise<number>
}

interface BatchState {
  readonly at: Date
  readonly byDevice: boolean
}

async function replayBatch(ctx: Context, scope: PlaceScope, { id, what, requeue }: Batch): Promise<number> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const { doc } = await lockWebhook(tx, scope, id)
    const moved = await requeue(tx, { at, byDevice: orderOf(doc) === 'device' })
    if (moved === 0) return 0
    const messages = moved === 1 ? 'message' : 'messages'
    const message = `Replay ${moved} ${what} ${messages} of Webhook "${webhookName(doc)}"`
    await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), at })
    await rescheduleLane(tx, { orgId: scope.orgId, webhookId: id })
    wakeAfterCommit(tx, 'deliveries', [id])
    return moved
  })
}
