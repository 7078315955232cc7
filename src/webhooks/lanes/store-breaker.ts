import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { type RetriedKey, advanceFollowers } from './store-order.ts'
import { type LaneKey, nextAt } from './store.ts'

/** Bounds the retries that become due at once. The messages that wait for them are not bounded; see decision 487. */
const MAX_ADVANCED = 1000

/**
 * Makes the first thousand retries of a lane due now, because its receiver is back, or is another one: after many
 * failures they would wait for up to a day. Messages that wait for such a retry, because they have its key, become due with it;
 * otherwise later ones would overtake them. Others that were not tried keep their times, by which a replay is spread.
 *
 * The lane must have been locked by lockLanes(), and its `due_from` must then be no later than `now`.
 * @returns False if there was none.
 */
async function advanceRetries(tx: Tx, lane: LaneKey, now: Date): Promise<boolean> {
  const { orgId, webhookId } = lane
  const { rows: retried } = await sql<{ id: string; orderKey: string | null; dueAt: Date }>`
    with retried as materialized (
      select id, order_key, due_at from webhook_message
      where org_id = ${orgId} and webhook_id = ${webhookId} and due_at > ${now} and attempt > 0
      order by due_at, id limit ${MAX_ADVANCED}
    ), advanced as (
      update webhook_message set due_at = ${now} where id = any(array(select id from retried))
    )
    select id, order_key, due_at from retried order by id
  `.execute(tx)
  const firstOfKey = new Map<string, RetriedKey>()
  for (const { orderKey, ...message } of retried)
    if (orderKey !== null && !firstOfKey.has(orderKey)) firstOfKey.set(orderKey, { ...message, orderKey })
  await advanceFollowers(tx, lane, { retried: [...firstOfKey.values()], now })
  return retried.length > 0
}

/**
 * Closes the breaker of a lane whose receiver may have changed, and makes its retries due. A process that still waits for
 * the old receiver loses the lane, so that it can't open the breaker again. The lane must have been locked by lockLanes(), and
 * rescheduleLanes() must follow.
 */
export async function closeBreaker(tx: Tx, { orgId, webhookId }: LaneKey, now: Date): Promise<void> {
  const lane = tx.updateTable('webhookLane').where('orgId', '=', orgId).where('webhookId', '=', webhookId)
  const { numUpdatedRows: closed } = await lane
    .set({ failures: 0, openUntil: null, failingSince: null, leaseUntil: null, leasedBy: null, epoch: sql`epoch + 1` })
    .where((eb) => eb.or([eb('openUntil', 'is not', null), eb('failingSince', 'is not', null)]))
    .executeTakeFirstOrThrow()
  if (closed > 0n && (await advanceRetries(tx, { orgId, webhookId }, now)))
    await lane.set({ dueFrom: sql`least(due_from, ${now})` }).execute()
}

/**
 * Closes the breaker of a lane whose receiver is back, makes its retries due, and ends a pause that the receiver has
 * requested. Does nothing if there is neither. Like closeBreaker() it ends the lease, and the lane is due when its messages are.
 *
 * @param keepUntil The end of a pause that is kept, at the latest; null to keep none.
 * @returns False if it did nothing.
 */
export async function reopenLane(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { now, keepUntil }: { readonly now: Date; readonly keepUntil: Date | null },
): Promise<boolean> {
  // A lane that is open is not locked, because that would delay its results.
  const { rows: shut } = await sql`
    select from webhook_lane l
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and (l.open_until > ${now} or l.failing_since is not null)
    for update
  `.execute(tx)
  if (shut.length === 0) return false
  const isAdvanced = await advanceRetries(tx, { orgId, webhookId }, now)
  const dueFrom = isAdvanced ? sql`least(l.due_from, ${now}::timestamptz)` : sql`l.due_from`
  const openUntil = keepUntil === null ? sql`null` : sql`least(l.open_until, ${keepUntil}::timestamptz)`
  // The lane is written once; see writeMixed().
  await sql`
    update webhook_lane l
    set failures = 0, open_until = ${openUntil}, failing_since = null, lease_until = null, leased_by = null,
      epoch = l.epoch + 1, due_from = ${dueFrom}, next_at = ${nextAt(openUntil, dueFrom)}
    from webhook w
    where w.org_id = ${orgId} and w.id = ${webhookId} and l.org_id = w.org_id and l.webhook_id = w.id
  `.execute(tx)
  return true
}
