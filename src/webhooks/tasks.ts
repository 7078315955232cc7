import { systemScopeOf } from '../access/scope.ts'
import { appendSystemEvent } from '../events/append-system.ts'
import { addMs } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { preparePartitions } from '../platform/database/partitions.ts'
import type { Task } from '../platform/time/jobs.ts'
import type { Mailer } from '../platform/outbound/mail.ts'
import { keptDays } from './partitions.ts'
import { deleteEventsSetAsideBefore } from '../events/store-outbox.ts'
import { shareOrgIfAny } from '../orgs/store.ts'
import { shareWebhooks } from './delivery/store-unrouted.ts'
import { findWebhookOf, listLanesOlderThan } from './lanes/store-expiry.ts'
import { deleteMessagesParkedBefore, parkMessagesOlderThan } from './replays/store-parked.ts'
import { watchFailing } from './health/watch-failing.ts'
import { type LaneKey, listDoubtfulLanes, lockLanes, recountLanes } from './lanes/store.ts'

/** Returns the chores of webhooks, for startJobs(). */
export function webhookTasks(ctx: Context, mailer: Mailer): Task[] {
  return [
    { name: 'webhook_partitions', cron: '10 0 * * *', run: () => preparePartitions(ctx, keptDays) },
    {
      name: 'webhook_sweep',
      cron: '* * * * *',
      run: async () => {
        await sweepLanes(ctx)
      },
    },
    { name: 'webhook_failing', cron: '* * * * *', run: () => watchFailing(ctx, mailer) },
    {
      name: 'webhook_expiry',
      cron: '20 * * * *',
      run: async () => {
        await expireMessages(ctx)
        await expireParkedMessages(ctx)
        await expireSetAsideEvents(ctx)
      },
    },
  ]
}

/**
 * Corrects the counts and due times of lanes. A lane may count messages that it does not have any more if its holder could
 * not say so, as after a crash. Any other wrong lane is a defect, which would have prevented messages from being sent and
 * is logged as an error.
 *
 * @returns The number of defects.
 */
export async function sweepLanes(ctx: Context): Promise<number> {
  const [defects, recounted] = [[] as LaneKey[], [] as LaneKey[]]
  for (const lane of await listDoubtfulLanes(ctx.db, ctx.clock.now())) {
    await inTx(ctx, async (tx) => {
      await lockLanes(tx, [lane])
      // The lane was read without a lock, so another transaction may have been changing it.
      const [still] = await listDoubtfulLanes(tx, ctx.clock.now(), lane)
      if (still === undefined) return
      await recountLanes(tx, [lane])
      ;(still.isDefect ? defects : recounted).push(lane)
    })
  }
  if (recounted.length > 0) ctx.log.info({ lanes: recounted.length }, 'webhook lanes counted messages that were gone')
  if (defects.length > 0) {
    ctx.log.error({ lanes: defects.length }, 'webhook lanes were out of step with their messages')
    ctx.wakes.wake('deliveries')
  }
  return defects.length
}

/** How long a message waits for a receiver that is down, or for a disabled webhook to be enabled again. */
const KEPT_MS = 7 * 24 * 3600e3

/**
 * Parks messages that have waited too long. An open breaker sends fewer messages than may arrive, so without
 * this the messages for a dead receiver would grow without limit.
 *
 * @returns How many were parked.
 */
export async function expireMessages(ctx: Context): Promise<number> {
  const before = addMs(ctx.clock.now(), -KEPT_MS)
  let parked = 0
  for (const lane of await listLanesOlderThan(ctx.db, before)) {
    const ofLane = await inTx(ctx, async (tx) => {
      // What is inserted refers to both, and a deletion locks them before the lane.
      if (!(await shareOrgIfAny(tx, lane))) return 0
      await shareWebhooks(tx, [lane])
      await lockLanes(tx, [lane])
      const parked = await parkMessagesOlderThan(tx, lane, { before, at: ctx.clock.now() })
      await recountLanes(tx, [lane])
      if (parked > 0) await reportParked(tx, lane, { messages: parked, at: ctx.clock.now() })
      return parked
    })
    ctx.log.warn({ ...lane, messages: ofLane }, 'webhook messages parked that nobody took for a week')
    parked += ofLane
  }
  return parked
}

async function reportParked(
  tx: Tx,
  lane: LaneKey,
  { messages: count, at }: { readonly messages: number; readonly at: Date },
): Promise<void> {
  const webhook = await findWebhookOf(tx, lane)
  if (webhook === undefined) return
  const { orgId, webhookId } = lane
  const { siteId, name } = webhook
  const [messages, have] = count === 1 ? ['1 message', 'has'] : [`${count} messages`, 'have']
  const text = `${messages} of webhook "${name}" ${have} not been taken by its receiver for a week, and can be replayed for another one`
  const details = { count, webhook_id: webhookId }
  const event = { type: 'WEBHOOK_MESSAGES_DROPPED', siteId, text, details } as const
  await appendSystemEvent(tx, systemScopeOf('webhooks', { orgId, siteId }), event, at)
}

/** How long a parked message can be replayed. */
const PARKED_MS = 7 * 24 * 3600e3

/** @returns The number of deleted messages. */
export async function expireParkedMessages(ctx: Context): Promise<number> {
  const before = addMs(ctx.clock.now(), -PARKED_MS)
  return inTx(ctx, (tx) => deleteMessagesParkedBefore(tx, before))
}

/** How long events that could not be routed are stored for the operator. */
const SET_ASIDE_KEPT_MS = 30 * 24 * 3600e3

/** @returns The number of deleted events. */
export async function expireSetAsideEvents(ctx: Context): Promise<number> {
  const before = addMs(ctx.clock.now(), -SET_ASIDE_KEPT_MS)
  return inTx(ctx, (tx) => deleteEventsSetAsideBefore(tx, before))
}
