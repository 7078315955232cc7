import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, memberOf, rowsAs, rowsUpdate } from '../../platform/database/rows.ts'
import type { Param } from '../../platform/database/statement.ts'
import { MAX_IN_MEMORY } from '../limits/limits.ts'
import { isLaneOf, isMessageOf } from '../store-look-ups.ts'
import { type LaneKey, laneKeyColumns } from './store.ts'

/**
 * Bounds the messages that one statement looks at and gives other times. PostgreSQL writes no body of more than two kilobytes again, so
 * it writes at most two MiB.
 */
export const MESSAGES_PER_STATEMENT = 1024

/** No id is smaller. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** No id is greater. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

interface Front {
  /** How many of the first due messages were looked at, and how many of them were delayed. */
  readonly seen: number
  readonly delayed: number
}

/**
 * Delays those of the first due messages of lanes that wait for an earlier message of their key that is retried, until it is due. Messages
 * that are due at the same time have the order of their ids. The lanes must be locked, so that no message is added concurrently.
 * @returns The webhooks of lanes in which a claim could find messages that have not been looked at. They must not be claimed before
 * this has been called again.
 */
export async function delayFollowers(tx: Tx, lanes: readonly LaneKey[], now: Date): Promise<ReadonlySet<string>> {
  const unseen = new Set<string>()
  for (const { orgId, webhookId } of await listLanesWithRetries(tx, lanes)) {
    const { rows } = await sql<Front>`
      with front as materialized (
        select m.* from webhook_lane l cross join lateral (
          select m.id, m.order_key, m.due_at from webhook_message m
          where m.webhook_id = l.webhook_id and m.due_at >= l.due_from and m.due_at <= ${now}
          order by m.due_at, m.id limit ${MESSAGES_PER_STATEMENT}) m
        where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
      ), early as materialized (
        select f.id, r.due_at from front f cross join lateral (
          select r.due_at from webhook_message r
          where r.org_id = ${orgId} and r.webhook_id = ${webhookId} and r.order_key = f.order_key and r.attempt > 0 and r.id < f.id
          order by r.id limit 1) r
        where f.due_at < r.due_at
      ), delayed as (
        update webhook_message m set due_at = e.due_at from early e where ${isMessageOf('m', 'e.id')}
      )
      select (select count(*)::int from front) as seen, (select count(*)::int from early) as delayed
    `.execute(tx)
    const { seen, delayed } = rows[0] ?? { seen: 0, delayed: 0 }
    if (seen === MESSAGES_PER_STATEMENT && seen - delayed < MAX_IN_MEMORY) unseen.add(webhookId)
  }
  return unseen
}

async function listLanesWithRetries(tx: Tx, lanes: readonly LaneKey[]): Promise<LaneKey[]> {
  if (lanes.length === 0) return []
  const { rows } = await sql<LaneKey>`
    select k.org_id, k.webhook_id from ${rowsAs('k', laneKeyColumns, lanes)}
    where exists (
      select from webhook_message r where ${isLaneOf('r', 'k')} and r.order_key is not null and r.attempt > 0)
  `.execute(tx)
  return rows
}

/**
 * Makes messages due with the retries that they were delayed for, because these have become due earlier: a portion of each lane, the latest
 * first. The lanes must be locked, and must not be claimed in the same transaction: other messages would overtake those that are
 * left, and a second update of a lane would wait for the deletion of its webhook, which waits for the lane. Those that have become due
 * meanwhile follow as well, because later messages of their keys may be due before them.
 */
export async function advanceFollowers(tx: Tx, lanes: readonly LaneKey[]): Promise<void> {
  for (const { orgId, webhookId } of lanes)
    await sql`
      with first as materialized (
        select min(r.due_at) as due_at from webhook_message r
        where r.org_id = ${orgId} and r.webhook_id = ${webhookId} and r.order_key is not null and r.attempt > 0
      ), late as materialized (
        select m.* from webhook_lane l cross join lateral (
          select m.id, m.order_key, m.attempt, m.due_at from webhook_message m
          where m.webhook_id = l.webhook_id and m.due_at > (select due_at from first) and (m.due_at, m.id) < (l.followers_at, l.followers_id)
          order by m.due_at desc, m.id desc limit ${MESSAGES_PER_STATEMENT}) m
        where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
      ), follower as materialized (
        select f.id, r.due_at from late f cross join lateral (
          select r.due_at from webhook_message r
          where r.org_id = ${orgId} and r.webhook_id = ${webhookId} and r.order_key = f.order_key and r.attempt > 0 and r.id < f.id
          order by r.id limit 1) r
        where f.attempt = 0 and r.due_at < f.due_at
      ), advanced as (
        update webhook_message m set due_at = f.due_at from follower f where ${isMessageOf('m', 'f.id')}
      ), last as (
        select due_at, id from late order by late.due_at, id limit 1
      )
      update webhook_lane l set followers_at = last.due_at, followers_id = last.id
      from (select count(*) from late) seen left join last on seen.count = ${MESSAGES_PER_STATEMENT}
      where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
    `.execute(tx)
}

/**
 * Lets orderByCreation() begin, because the receiver of a lane fetches its messages from now on. The lane must be locked. Until a portion is
 * in order, `ordered_id` is the first id.
 * @param isNew False to begin again if it has not ended: a change of the webhook may have made messages due at other times.
 */
export async function beginOrder(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { isNew }: { readonly isNew: boolean },
): Promise<void> {
  await sql`
    update webhook_lane set ordered_at = '-infinity', ordered_id = case when ${isNew} then ${FIRST_ID}::uuid else ordered_id end
    where org_id = ${orgId} and webhook_id = ${webhookId} and (${isNew} or ordered_at is not null)
  `.execute(tx)
}

/**
 * Makes a portion of the messages of a lane due in the order in which they were created, for a receiver that fetches them: neither retries
 * nor the messages behind them wait for a time any more. A message that becomes due earlier comes before all that are left. The lane must
 * have been locked by an earlier statement.
 * @returns False if all are in this order.
 */
export async function orderByCreation(tx: Tx, { orgId, webhookId }: LaneKey, now: Date): Promise<boolean> {
  // PostgreSQL uses the index of due messages only because a condition compares `due_at` alone.
  const { rows } = await sql<{ isLeft: boolean }>`
    with seen as materialized (
      select m.* from webhook_lane l cross join lateral (
        select id, due_at, least(created_at, ${now}::timestamptz) as created_at from webhook_message
        where webhook_id = l.webhook_id and due_at >= l.ordered_at and (due_at, id) > (l.ordered_at, l.ordered_id)
        order by due_at, id limit ${MESSAGES_PER_STATEMENT}) m
      where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
    ), moved as (
      update webhook_message m set due_at = s.created_at from seen s where ${isMessageOf('m', 's.id')} and s.created_at < s.due_at
    ), last as (
      select due_at, id from seen order by seen.due_at desc, id desc limit 1
    )
    update webhook_lane l
    set ordered_at = last.due_at, ordered_id = last.id, due_from = least(l.due_from, portion.first_at),
      followers_at = case when last.id is not null then l.followers_at end,
      followers_id = case when last.id is not null then l.followers_id end
    from (select count(*) as messages, min(least(created_at, due_at)) as first_at from seen) portion
      left join last on portion.messages = ${MESSAGES_PER_STATEMENT}
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and l.ordered_at is not null
    returning l.ordered_at is not null as is_left
  `.execute(tx)
  return rows[0]?.isLeft ?? false
}

/**
 * Ends orderByCreation(), because messages are sent again. If it has moved some, it moves all that are not in order: otherwise these would
 * be sent in another order. The change may have made some of them due, so it looks at all of them again. The lane must be locked.
 */
export async function endOrder(tx: Tx, lane: LaneKey, now: Date): Promise<void> {
  await sql`
    update webhook_lane
    set ordered_at = case when ordered_id <> ${FIRST_ID} then '-infinity'::timestamptz end, ordered_id = nullif(ordered_id, ${FIRST_ID})
    where org_id = ${lane.orgId} and webhook_id = ${lane.webhookId} and ordered_at is not null
  `.execute(tx)
  while (await orderByCreation(tx, lane, now));
}

export interface Reschedule {
  readonly id: string
  /** Attempts made so far. */
  readonly attempt: number
  /** Those of them whose answers requested a pause. */
  readonly pauses: number
  readonly dueAt: Date
  readonly payloadId: string
  readonly payloadAt: Date
}

const attemptColumns = columnsOf('webhookMessage', {
  id: 'uuid',
  attempt: 'integer',
  pauses: 'integer',
  payloadId: 'uuid',
  payloadAt: 'timestamptz',
})

/** The condition that a message is one of these; see openQueuePool(). */
export function isOneOf<V>(rows: Param<V, readonly object[]>): RawBuilder<unknown> {
  return sql`webhook_message.id = any(${rows.map((all) => all.map((row) => memberOf(row, 'id')))}::uuid[])`
}

const countAttempts = rowsUpdate(attemptColumns, (param) => ({ key: ['id'], where: isOneOf(param('rows')) }))

/** Counts attempts of messages that keep their position among those that are due. */
export async function updateAttempts(tx: Tx, rows: readonly Omit<Reschedule, 'dueAt'>[]): Promise<void> {
  await countAttempts(tx, rows, {})
}
