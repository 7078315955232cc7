import { sql } from 'kysely'
import { topics } from '../events/topics.ts'
import { type Tx, anyOf } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'
import type { Subscriber, WaitingEvent } from './plan-round.ts'

/** An arbitrary fixed number, so that one router works at a time, in whichever process. */
const ROUTER_LOCK = 5301942

/** Returns false when another router is at work. The lock ends with `tx`. */
export async function tryLockRouter(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${ROUTER_LOCK}::bigint) as locked
  `.execute(tx)
  return rows[0]?.locked === true
}

const lingerMs = new Map(Object.entries(topics).map(([topic, { lingerMs: ms }]) => [topic, ms]))

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

/** Lists queues after `after` in the order of their keys. Each costs one index look-up, however many events it has. */
export async function listQueues(
  tx: Tx,
  { after, limit }: { readonly after: QueueKey; readonly limit: number },
): Promise<OutboxQueue[]> {
  const { rows } = await sql<QueueKey & { createdAt: Date }>`
    with recursive queue as (
      (select org_id, topic, created_at from webhook_outbox
        where set_aside_at is null and (org_id, topic) > (${after.orgId}::uuid, ${after.topic}::text)
        order by org_id, topic, id limit 1)
      union all
      select next.* from queue cross join lateral (
        select o.org_id, o.topic, o.created_at from webhook_outbox o
        where o.set_aside_at is null and (o.org_id, o.topic) > (queue.org_id, queue.topic)
        order by o.org_id, o.topic, o.id limit 1) next)
    select * from queue limit ${limit}
  `.execute(tx)
  return rows.map(({ orgId, topic, createdAt }) => ({
    orgId,
    topic,
    ripeAt: new Date(createdAt.getTime() + (lingerMs.get(topic) ?? 0)),
  }))
}

const queueColumns = columnsOf('webhookOutbox', { orgId: 'uuid', topic: 'text' })

/** Lists the oldest events of each queue without their content, in the order of `queues` and of ids. */
export async function listWaitingEvents(
  tx: Tx,
  queues: readonly QueueKey[],
  limitEach: number,
): Promise<WaitingEvent[][]> {
  const { rows } = await sql<WaitingEvent & { queue: string }>`
    select k.queue, e.*
    from ${rowsAs('k', queueColumns, queues, 'queue')}
      cross join lateral (
        select o.id, o.org_id, o.site_id, o.topic, o.bytes, o.routed_to from webhook_outbox o
        where o.set_aside_at is null and o.org_id = k.org_id and o.topic = k.topic
        order by o.id limit ${limitEach}) e
    order by k.queue, e.id
  `.execute(tx)
  return [...Map.groupBy(rows, ({ queue }) => queue).values()]
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
