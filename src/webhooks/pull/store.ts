import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import type { PartLimits } from '../../platform/database/split.ts'
import type { LaneKey } from '../lanes/store.ts'

/** A message that was handed out and not yet acknowledged. */
export interface PulledMessage {
  readonly id: string
  readonly topic: string
  readonly body: Buffer
  /** Its position in the order in which messages were first returned. */
  readonly seq: string
}

export interface PulledLane {
  /** The last place that was given. */
  readonly last: bigint
  /** False if orderByCreation() has to go on before messages get places. */
  readonly isOrdered: boolean
}

export async function lockPulledLane(tx: Tx, { orgId, webhookId }: LaneKey): Promise<PulledLane> {
  const row = await tx
    .selectFrom('webhookLane')
    .select(['pullSeq', 'orderedId'])
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return { last: BigInt(row.pullSeq), isOrdered: row.orderedId === null }
}

export interface Pull {
  /** Messages after this place. */
  readonly after: bigint
  /** False: of the messages that were not handed out yet, only pings are returned. */
  readonly enabled: boolean
  readonly limit: number
  /** Limits the bodies together; the first message is returned whatever its size. */
  readonly bytes: number
}

/**
 * Gives places to the first messages that have none, in the order of their times: those of a replay are due later, but a receiver that
 * fetches has a pace of its own. The lane must be locked by lockPulledLane, and be ordered.
 */
export async function numberMessages(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { enabled, limit }: Pick<Pull, 'enabled' | 'limit'>,
): Promise<void> {
  await sql`
    with numbered as (
      update webhook_message m set pull_seq = l.pull_seq + due.place
      from webhook_lane l, (
        select id, row_number() over (order by due_at, id) as place from webhook_message
        where org_id = ${orgId} and webhook_id = ${webhookId} and pull_seq is null and due_at >= '-infinity'
          and (${enabled} or topic = 'ping')
        order by due_at, id limit ${limit}) due
      where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and m.id = due.id
      returning m.pull_seq
    )
    update webhook_lane l set pull_seq = (select max(pull_seq) from numbered)
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId} and exists (select from numbered)
  `.execute(tx)
}

/**
 * Lists messages in the order of their places. While the webhook is disabled, these are pings and what was handed out
 * before: an acknowledgment concerns all places up to one, so none may be hidden.
 */
export async function listNumbered(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { after, limit, bytes }: Pick<Pull, 'after' | 'limit' | 'bytes'>,
): Promise<PulledMessage[]> {
  const { rows } = await sql<PulledMessage>`
    select id, topic, body, pull_seq as seq
    from ${sizedMessages(sql`pull_seq > ${String(after)}::bigint`, { orgId, webhookId }, limit)}
    where place = 1 or bytes <= ${bytes} order by pull_seq
  `.execute(tx)
  return rows
}

/** Selects the first messages that have places, each with the bytes up to it and the number of all. */
function sizedMessages(
  isWanted: RawBuilder<unknown>,
  { orgId, webhookId }: LaneKey,
  limit: number,
): RawBuilder<unknown> {
  return sql`(
    select m.*, row_number() over by_place as place, sum(octet_length(body)) over by_place as bytes,
      count(*) over () as found
    from (
      select id, topic, body, pull_seq from webhook_message
      where org_id = ${orgId} and webhook_id = ${webhookId} and ${isWanted}
      order by pull_seq limit ${limit}) m
    window by_place as (order by pull_seq)) sized`
}

const recordColumns = columnsOf('webhookMessage', { id: 'uuid' }, { deliveryId: 'uuid' })

/** Lists the ids of messages up to a place, the first ones; the first of all whatever its size. */
export async function listUpTo(
  tx: Tx,
  lane: LaneKey,
  { cursor, count, bytes }: PartLimits & { readonly cursor: bigint },
): Promise<{ readonly ids: readonly string[]; readonly hasMore: boolean }> {
  const { rows } = await sql<{ id: string; found: number }>`
    select id, found::int from ${sizedMessages(sql`pull_seq <= ${String(cursor)}::bigint`, lane, count + 1)}
    where place = 1 or (place <= ${count} and bytes <= ${bytes}) order by pull_seq
  `.execute(tx)
  return { ids: rows.map(({ id }) => id), hasMore: rows.length < (rows[0]?.found ?? 0) }
}

/** Deletes messages and stores a record of each as a delivery: their receiver fetches. The lane must be locked. */
export async function recordPulled(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  {
    records,
    at,
  }: { readonly records: readonly { readonly id: string; readonly deliveryId: string }[]; readonly at: Date },
): Promise<void> {
  await sql`
    with taken as (
      delete from webhook_message m using ${rowsAs('k', recordColumns, records)}
      where m.org_id = ${orgId} and m.webhook_id = ${webhookId} and m.id = k.id
        and m.id = any(${records.map(({ id }) => id)}::uuid[])
      returning m.*, k.delivery_id
    ), recorded as (
      insert into webhook_delivery (org_id, id, webhook_id, message_id, site_id, topic, attempt, status, req_url, created_at, final)
      select t.org_id, t.delivery_id, t.webhook_id, t.id, w.site_id, t.topic, t.attempt + 1, 'success', '', ${at}::timestamptz, true
      from taken t join webhook w on w.org_id = t.org_id and w.id = t.webhook_id
    ), kept as (
      insert into webhook_body (org_id, delivery_id, req_headers, req_payload, created_at)
      select org_id, delivery_id, '{}', convert_from(body, 'UTF8'), ${at}::timestamptz from taken
    )
    update webhook_lane set pending = pending - (select count(*) from taken), failing_since = null
    where org_id = ${orgId} and webhook_id = ${webhookId}
  `.execute(tx)
}
