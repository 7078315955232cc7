import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { PlaceScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { type LaneKey, dueFromWith } from '../lanes/store.ts'
import { selectWebhooks } from '../store.ts'
import { isMessageOf, isWebhookOf } from '../store-look-ups.ts'
import type { WebhookParkedMessageTable } from '../tables.ts'

/** A message that is sent again only on request, without its body. */
export type ParkedMessage = Omit<Selectable<WebhookParkedMessageTable>, 'body' | 'orderKey'>

export type ParkReason = ParkedMessage['reason']

const attemptColumns = columnsOf(
  'webhookMessage',
  {},
  { messageId: 'uuid', attempt: 'integer', createdAt: 'timestamptz' },
)

export interface LastAttempt {
  readonly messageId: string
  /** Attempts made so far. */
  readonly attempt: number
  /** The time of the attempt. */
  readonly createdAt: Date
}

/**
 * Keeps copies of messages after their last attempt, unless their webhooks are deleted. The webhooks must be locked, and
 * deleteMessages must follow.
 */
export async function parkMessages(tx: Tx, attempts: readonly LastAttempt[], reason: ParkReason): Promise<void> {
  await sql`
    insert into webhook_parked_message
      (org_id, id, webhook_id, topic, body, event_count, order_key, attempt, reason, created_at, parked_at)
    select m.org_id, m.id, m.webhook_id, m.topic, m.body, m.event_count, m.order_key, k.attempt, ${reason}, m.created_at, k.created_at
    from webhook_message m join ${rowsAs('k', attemptColumns, attempts)} on ${isMessageOf('m', 'k.message_id')}
      join webhook w on ${isWebhookOf('w', 'm')}
    on conflict do nothing
  `.execute(tx)
}

/** Bounds a statement that moves messages between a lane and the parking, during which the router waits for the lane. */
export const parkedPortion = { count: 500, bytes: 4 * 1024 * 1024 } as const

export interface OldMessages {
  readonly before: Date
  readonly at: Date
  /** Leaves out messages that are due earlier; null for none. Otherwise portions would read what former ones have deleted. */
  readonly from: Date | null
}

export interface MovedMessages {
  readonly parked: number
  /** Those that were parked, and pings. */
  readonly deleted: number
  /** When the last one was due; null if there was none. */
  readonly lastDueAt: Date | null
}

/**
 * Moves a portion of the messages of a lane that were created before `before`: those that are due first. One that is parked already,
 * because it was replayed as a delivery, is parked anew. Pings are deleted. The lane must be locked, and its count is left
 * to the caller.
 */
export async function parkMessagesOlderThan(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { before, at, from }: OldMessages,
): Promise<MovedMessages> {
  const { count, bytes } = parkedPortion
  const { rows } = await sql<MovedMessages>`
    with old as materialized (
      select id from (
        select id, row_number() over earlier as place, sum(octet_length(body)) over earlier as bytes
        from (
          select id, due_at, body from webhook_message
          where org_id = ${orgId} and webhook_id = ${webhookId} and created_at < ${before}
            and due_at >= coalesce(${from}::timestamptz, '-infinity')
          order by due_at, id limit ${count}) m
        window earlier as (order by due_at, id)) sized
      where place = 1 or bytes <= ${bytes}
    ), expired as (
      delete from webhook_message where id = any(array(select id from old)) returning *
    ), parked as (
      insert into webhook_parked_message
        (org_id, id, webhook_id, topic, body, event_count, order_key, attempt, reason, created_at, parked_at)
      select org_id, id, webhook_id, topic, body, event_count, order_key, attempt, 'expired', created_at, ${at}::timestamptz
      from expired where topic <> 'ping'
      on conflict (org_id, id) do update set attempt = excluded.attempt, reason = excluded.reason, parked_at = excluded.parked_at
      returning id
    )
    select (select count(*)::int from parked) as parked, count(*)::int as deleted, max(due_at) as last_due_at from expired
  `.execute(tx)
  return rows[0] ?? { parked: 0, deleted: 0, lastDueAt: null }
}

/** Lists the parked messages of a webhook of this very place, oldest first. */
export function listParkedMessages(
  db: Db,
  scope: PlaceScope,
  webhookId: string,
  page: Page,
): Promise<Paged<ParkedMessage>> {
  const hits = db
    .selectFrom('webhookParkedMessage as p')
    .select(['orgId', 'id', 'webhookId', 'topic', 'eventCount', 'attempt', 'reason', 'createdAt', 'parkedAt'])
    .where('p.orgId', '=', scope.orgId)
    .where('p.webhookId', '=', webhookId)
    .where((eb) => eb.exists(selectWebhooks(db, scope).where('id', '=', webhookId)))
  return pageOf<ParkedMessage>(db, { hits, order: ['parked_at', 'id'], sizes: smallRows }, page)
}

/** Conditions that must all hold; null for none. */
export interface ReplayFilter {
  readonly ids: readonly string[] | null
  readonly topic: string | null
  readonly reason: ParkReason | null
  /** The times when the messages were parked or delivered. */
  readonly start: Date | null
  readonly end: Date | null
}

/** The pace of all replays of a webhook together: this many messages are due at once, then the next ones after each pause. */
export const replayPace = { count: 50, pauseMs: 500 } as const

/** How much later the messages after a replay are due for each of its messages. */
export const MS_PER_REPLAYED = replayPace.pauseMs / replayPace.count

export interface ReplayLimits {
  readonly count: number
  /** Limits the bodies together; the first message is moved whatever its size. */
  readonly bytes: number
}

export interface ReplayBatch {
  readonly filter: ReplayFilter
  readonly limits: ReplayLimits
  readonly at: Date
  /** When the first message is due. */
  readonly from: Date
}

interface Requeued {
  /** How many wait again. */
  readonly queued: number
  /** How many are no longer parked. */
  readonly taken: number
}

/**
 * Returns parked messages to their lane, the oldest first, with the same ids and bytes and all attempts ahead of them. The
 * webhook must be locked. One whose copy waits in the lane already is only parked no more.
 */
export async function requeueParkedMessages(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { filter, limits, at, from }: ReplayBatch,
): Promise<Requeued> {
  const { ids, topic, reason, start, end } = filter
  const { rows } = await sql<Requeued>`
    with found as (
      select id from (
        select p.id, row_number() over oldest as place, sum(octet_length(p.body)) over oldest as bytes
        from webhook_parked_message p
        where p.org_id = ${orgId} and p.webhook_id = ${webhookId}
          and (${ids}::uuid[] is null or p.id = any(${ids}::uuid[]))
          and (${topic}::text is null or p.topic = ${topic}) and (${reason}::text is null or p.reason = ${reason})
          and (${start}::timestamptz is null or p.parked_at >= ${start})
          and (${end}::timestamptz is null or p.parked_at <= ${end})
        window oldest as (order by p.parked_at, p.id)
        order by p.parked_at, p.id limit ${limits.count}) sized
      where place = 1 or bytes <= ${limits.bytes}
    ), taken as (
      delete from webhook_parked_message p using found where p.org_id = ${orgId} and p.id = found.id returning p.*
    ), queued as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, order_key, due_at, created_at)
      select org_id, id, webhook_id, topic, body, event_count, order_key, ${dueAt(from)}, ${at}::timestamptz from taken
      on conflict do nothing
      returning id
    ), counted as (
      select count(*)::int as queued, (select count(*)::int from taken) as taken from queued
    ), changed as (
      update webhook_lane l set pending = l.pending + counted.queued, due_from = ${dueFromWith(sql`${from}::timestamptz`)},
        replays_until = ${from}::timestamptz + counted.queued * ${MS_PER_REPLAYED} * interval '1 ms'
      from counted where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
    )
    select queued, taken from counted
  `.execute(tx)
  return rows[0] ?? { queued: 0, taken: 0 }
}

/** The due times of replayed messages in the order in which they were parked: live messages come in between. */
function dueAt(from: Date): RawBuilder<Date> {
  const { count, pauseMs } = replayPace
  return sql`${from}::timestamptz + ${pauseMs} * interval '1 ms' * ((row_number() over (order by parked_at, id) - 1) / ${count})`
}

/**
 * Deletes old messages, the oldest ones first, without those that another transaction has locked: what deletes those of a deleted webhook,
 * or a replay, locks them in another order.
 * @returns The number of deleted messages.
 */
export async function deleteMessagesParkedBefore(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    with old as materialized (
      select org_id, id from webhook_parked_message where parked_at < ${before}
      order by parked_at limit ${limit} for update skip locked
    )
    delete from webhook_parked_message p using old where p.org_id = old.org_id and p.id = old.id
  `.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
