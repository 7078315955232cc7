import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { LAST_ID } from './store-order.ts'
import { type LaneKey, nextAt } from './store.ts'

/** Bounds the retries that become due at once. */
const MAX_ADVANCED = 1000

/** The values of a lane after retries of it have become due. */
interface AdvancedLane {
  readonly dueFrom: RawBuilder<Date>
  readonly followersAt: RawBuilder<Date | null>
  readonly followersId: RawBuilder<string | null>
}

/** What is written to a lane that has no retry. */
const unchanged: AdvancedLane = {
  dueFrom: sql`due_from`,
  followersAt: sql`followers_at`,
  followersId: sql`followers_id`,
}

/**
 * Makes the first thousand retries of a lane due now, because its receiver is back, or is another one: after many
 * failures they would wait for up to a day. Messages that wait for such a retry, because they have its key, become due with it
 * before the lane is claimed, by advanceFollowers(); otherwise later ones would overtake them. Others that were not tried keep their
 * times, by which a replay is spread.
 *
 * The lane must have been locked by lockLanes(), and its `due_from` must then be no later than `now`.
 * @returns What must be written to the lane; null if there was no retry.
 */
async function advanceRetries(tx: Tx, { orgId, webhookId }: LaneKey, now: Date): Promise<AdvancedLane | null> {
  const { rows } = await sql<{ retries: number; followersAt: string | null }>`
    with retried as materialized (
      select id, order_key, due_at from webhook_message
      where org_id = ${orgId} and webhook_id = ${webhookId} and due_at > ${now} and attempt > 0
      order by due_at, id limit ${MAX_ADVANCED}
    ), advanced as (
      update webhook_message set due_at = ${now} where id = any(array(select id from retried))
    )
    select count(*)::int as retries, (max(due_at) filter (where order_key is not null))::text as followers_at from retried
  `.execute(tx)
  const { retries, followersAt } = rows[0] ?? { retries: 0, followersAt: null }
  if (retries === 0) return null
  // A lane that follows an earlier change follows both from the later position.
  const isLater = sql`coalesce(followers_at <= ${followersAt}::timestamptz, ${followersAt}::timestamptz is not null)`
  return {
    dueFrom: sql`least(due_from, ${now}::timestamptz)`,
    followersAt: sql`case when ${isLater} then ${followersAt}::timestamptz else followers_at end`,
    followersId: sql`case when ${isLater} then ${LAST_ID}::uuid else followers_id end`,
  }
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
  const advanced = closed > 0n ? await advanceRetries(tx, { orgId, webhookId }, now) : null
  if (advanced !== null) await lane.set({ ...advanced }).execute()
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
  const { dueFrom, followersAt, followersId } = (await advanceRetries(tx, { orgId, webhookId }, now)) ?? unchanged
  const openUntil = keepUntil === null ? sql`null` : sql`least(l.open_until, ${keepUntil}::timestamptz)`
  // The lane is written once; see writeMixed().
  await sql`
    update webhook_lane l
    set failures = 0, open_until = ${openUntil}, failing_since = null, lease_until = null, leased_by = null,
      epoch = l.epoch + 1, due_from = ${dueFrom}, followers_at = ${followersAt}, followers_id = ${followersId},
      next_at = ${nextAt(openUntil, dueFrom)}
    from webhook w
    where w.org_id = ${orgId} and w.id = ${webhookId} and l.org_id = w.org_id and l.webhook_id = w.id
  `.execute(tx)
  return true
}
