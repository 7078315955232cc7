import { sql } from 'kysely'
import { topics } from '../events/topics.ts'
import { type Reader, type Tx, anyOf } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'
import type { Subscriber, WaitingEvent } from './plan-round.ts'

/** The waiting events of one organization and topic. */
export interface OutboxQueue {
  readonly orgId: string
  readonly topic: string
  /** When the queue may be routed: events of a lingering topic wait for others, to share messages with them. */
  readonly ripeAt: Date
}

/** A position in the order of queues. */
export type QueueKey = Pick<OutboxQueue, 'orgId' | 'topic'>

/** A key before all queues. */
export const firstKey: QueueKey = { orgId: '00000000-0000-0000-0000-000000000000', topic: '' }

const lingers = columnsOf('webhookOutbox', { topic: 'text' }, { ms: 'integer' })
const lingerRows = Object.entries(topics).map(([topic, { lingerMs: ms }]) => ({ topic, ms }))

export interface QueueSearch {
  readonly after: QueueKey
  readonly limit: number
  readonly now: Date
  /** Limits the events of all queues together; each ripe queue gets an equal share. */
  readonly events: number
}

/** Queues in the order of their keys. */
export interface FoundQueues {
  readonly queues: readonly OutboxQueue[]
  /** The oldest events of each ripe queue, in order of id. */
  readonly waiting: readonly (readonly WaitingEvent[])[]
  /** True if a queue has more events than its share. */
  readonly hasMore: boolean
}

/** Finds queues after `after`, and events without their content. A queue costs one index look-up, however long it is. */
export async function findQueues(reader: Reader, search: QueueSearch): Promise<FoundQueues> {
  const { after, limit, now, events } = search
  const { rows } = await sql<OutboxQueue & WaitingEvent & { id: string | null; place: string; share: number }>`
    with recursive queue as (
      (select org_id, topic, created_at from webhook_outbox
        where set_aside_at is null and (org_id, topic) > (${after.orgId}::uuid, ${after.topic}::text)
        order by org_id, topic, id limit 1)
      union all
      select next.* from queue cross join lateral (
        select o.org_id, o.topic, o.created_at from webhook_outbox o
        where o.set_aside_at is null and (o.org_id, o.topic) > (queue.org_id, queue.topic)
        order by o.org_id, o.topic, o.id limit 1) next
    ), found as materialized (
      select q.org_id, q.topic, q.created_at + coalesce(k.ms, 0) * interval '1 ms' as ripe_at, row_number() over () as place
      from (select * from queue limit ${limit}) q left join ${rowsAs('k', lingers, lingerRows)} on k.topic = q.topic
    ), share as (
      select ceil(${events}::float8 / greatest(count(*), 1))::int as events from found where ripe_at <= ${now}
    )
    select q.org_id, q.topic, q.ripe_at, q.place, share.events as share, e.id, e.site_id, e.bytes, e.routed_to
    from found q cross join share left join lateral (
      select o.id, o.site_id, o.bytes, o.routed_to from webhook_outbox o
      where q.ripe_at <= ${now} and o.set_aside_at is null and o.org_id = q.org_id and o.topic = q.topic
      order by o.id limit (select events from share)) e on true
    order by q.org_id, q.topic, e.id
  `.execute(reader)
  const byQueue = [...Map.groupBy(rows, ({ place }) => place).values()]
  const waiting = byQueue.map((ofQueue) => ofQueue.filter(({ id }) => id !== null)).filter(({ length }) => length > 0)
  return {
    queues: byQueue.flatMap(([first]) => (first === undefined ? [] : [first])),
    waiting,
    hasMore: waiting.some(({ length }) => length >= (rows[0]?.share ?? 0)),
  }
}

const progressColumns = columnsOf('webhookOutbox', { id: 'uuid', routedTo: 'uuid' })

/** Locks events whose routing has progressed no further. @returns The ids of those that were found. */
export async function lockProgress(
  tx: Tx,
  events: readonly Pick<WaitingEvent, 'id' | 'routedTo'>[],
): Promise<Set<string>> {
  if (events.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`
    select o.id from webhook_outbox o join ${rowsAs('k', progressColumns, events)}
      on o.id = k.id and o.routed_to is not distinct from k.routed_to
    for update of o
  `.execute(tx)
  return new Set(rows.map(({ id }) => id))
}

/** Locks the organizations' enabled webhooks against deletion; returns them in the order of their keys. */
export async function lockSubscribers(tx: Tx, orgIds: readonly string[]): Promise<Subscriber[]> {
  const rows = await tx
    .selectFrom('webhook')
    .select(['orgId', 'id', 'siteId', 'topics'])
    .select(sql<boolean>`coalesce(doc -> 'single_event_per_message' = 'true', false)`.as('singleEvent'))
    .where('orgId', '=', anyOf(orgIds))
    .where('enabled', '=', true)
    .orderBy('orgId')
    .orderBy('id')
    .forKeyShare()
    .execute()
  return rows
}
