import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { splitByBytes } from '../../platform/database/split.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { orderOf } from '../delivery-options.ts'
import type { WebhookLimits } from '../limits/limits.ts'
import { planOrgRoom } from '../limits/plan-org-room.ts'
import { planDelivered } from './plan-delivered.ts'
import { type Pending, lockPending } from '../limits/store.ts'
import { listDelivered, requeueDelivered } from './store-delivered.ts'
import { rescheduleLane } from '../lanes/store.ts'
import { type ReplayFilter, parkedPortion, requeueParkedMessages } from './store-parked.ts'
import { getWebhook, lockWebhook } from '../store.ts'
import { webhookName } from '../webhook.ts'

/** Bounds one request. */
const MAX_BATCHES = 20

export interface ReplayRequest {
  readonly status: 'parked' | 'delivered'
  readonly filter: ReplayFilter
}

export interface Replayed {
  readonly replayed: number
  /** The times of the deliveries that are left for another call; null if none are. */
  readonly next: DeliveryTimes | null
}

/** A range with both of its ends. */
interface DeliveryTimes {
  readonly start: Date
  /** The same for all calls that continue the first one, so that none finds what an earlier one has sent again. */
  readonly end: Date
}

/** The replay of one webhook. */
interface Replay extends ReplayRequest {
  readonly id: string
  readonly limits: WebhookLimits
}

/**
 * Returns messages to the queue of their webhook, with the same ids and bytes, oldest first. Parked messages leave the
 * parking, so a call that replays 10,000 may have left some. The queue gets a few at a time: live messages don't wait for
 * all of them. A replay ends early when as many messages wait as may.
 * @throws AppError conflict if there is no room for any message.
 */
export async function replayMessages(ctx: Context, scope: PlaceScope, replay: Replay): Promise<Replayed> {
  await getWebhook(ctx.db, scope, replay.id)
  return replay.status === 'parked' ? replayParked(ctx, scope, replay) : replayDelivered(ctx, scope, replay)
}

async function replayParked(ctx: Context, scope: PlaceScope, { id, filter, limits }: Replay): Promise<Replayed> {
  let replayed = 0
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const lane = { orgId: scope.orgId, webhookId: id }
    const before = replayed
    let isEmpty = false
    const requeue = async (tx: Tx, { at, from, room }: BatchState): Promise<number> => {
      const part = { ...parkedPortion, count: Math.min(parkedPortion.count, room) }
      const { queued, taken } = await requeueParkedMessages(tx, lane, { filter, limits: part, at, from })
      isEmpty = taken === 0
      return queued
    }
    const moved = await replayBatch(ctx, scope, { id, limits, what: 'parked', least: 1, before, requeue })
    if (moved === null || isEmpty) break
    replayed += moved
  }
  return { replayed, next: null }
}

async function replayDelivered(ctx: Context, scope: PlaceScope, { id, filter, limits }: Replay): Promise<Replayed> {
  // What this replay delivers, in this very millisecond at the earliest, is not part of it.
  const latest = addMs(ctx.clock.now(), -1)
  const end = filter.end !== null && filter.end < latest ? filter.end : latest
  const most = { count: parkedPortion.count * MAX_BATCHES, bytes: parkedPortion.bytes * MAX_BATCHES }
  const found = await listDelivered(ctx.db, scope, { webhookId: id, filter: { ...filter, end }, limit: most.count + 1 })
  const { messages, nextStart } = planDelivered(found, most)
  const nextFrom = (start: Date | null) => (start === null ? null : { start, end })
  let [replayed, planned] = [0, 0]
  for (const delivered of splitByBytes(messages, ({ length }) => length, parkedPortion)) {
    const requeue = (tx: Tx, { at, from, byDevice }: BatchState): Promise<number> =>
      requeueDelivered(tx, { orgId: scope.orgId, webhookId: id }, { delivered, at, from, byDevice })
    const least = delivered.length
    const moved = await replayBatch(ctx, scope, { id, limits, what: 'delivered', least, before: planned, requeue })
    if (moved === null) return { replayed, next: nextFrom(delivered[0]?.deliveredAt ?? nextStart) }
    replayed += moved
    planned += delivered.length
  }
  return { replayed, next: nextFrom(nextStart) }
}

interface Batch {
  readonly id: string
  readonly limits: WebhookLimits
  readonly what: ReplayRequest['status']
  /** The minimum number of messages for which there must be room. */
  readonly least: number
  /** The number of earlier messages of the replay. */
  readonly before: number
  readonly requeue: (tx: Tx, state: BatchState) => Promise<number>
}

interface BatchState {
  readonly at: Date
  /** When the first message is due: after those of former replays, so that live messages don't wait for all of them. */
  readonly from: Date
  readonly byDevice: boolean
  /** The number of messages that may be added. */
  readonly room: number
}

/** @returns The number of added messages; null if there is no room. */
async function replayBatch(ctx: Context, scope: PlaceScope, replay: Batch): Promise<number | null> {
  const { id, what, requeue } = replay
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const { doc } = await lockWebhook(tx, scope, id)
    const pending = await lockPending(tx, scope, { webhookId: id })
    const room = findRoom(pending, replay)
    if (room === null) return null
    const { replaysUntil } = pending
    const from = replaysUntil !== null && replaysUntil > at ? replaysUntil : at
    const moved = await requeue(tx, { at, from, byDevice: orderOf(doc) === 'device', room })
    if (moved === 0) return 0
    const messages = moved === 1 ? 'message' : 'messages'
    const message = `Replay ${moved} ${what} ${messages} of Webhook "${webhookName(doc)}"`
    await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), after: { webhook_id: id }, at })
    await rescheduleLane(tx, { orgId: scope.orgId, webhookId: id })
    wakeAfterCommit(tx, 'deliveries', [id])
    return moved
  })
}

/** @returns The number of messages that may be added; null if other additions have left too few. */
function findRoom({ ofWebhook, ofOrg }: Pending, { limits, least, before }: Batch): number | null {
  const { shared, perWebhook } = planOrgRoom(limits.pendingPerOrg, ofOrg)
  const room = Math.min(limits.pendingPerWebhook - ofWebhook, shared + Math.max(perWebhook - ofWebhook, 0))
  if (room >= least) return room
  if (before > 0) return null
  const all = ofOrg.reduce((sum, messages) => sum + messages, 0)
  throw new AppError('conflict', `${ofWebhook} messages of the webhook and ${all} of its organization wait already`, {
    reason: `at most ${limits.pendingPerWebhook} and ${limits.pendingPerOrg} may, of which each webhook keeps ${perWebhook}`,
  })
}
