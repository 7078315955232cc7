import { type RawBuilder, sql } from 'kysely'
import { eventText } from '../../events/store-audit-event.ts'
import { topics } from '../../events/topics.ts'
import type { Reader } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { type Param, statement } from '../../platform/database/statement.ts'
import { MIN_STEP_MS } from '../delivery/clock-steps.ts'
import { isInOrgOf } from '../store-look-ups.ts'
import { MAX_MESSAGE_EVENTS } from './planning/plan-messages.ts'
import type { Subscriber, WaitingEvent, WaitingQueue } from './planning/plan-round.ts'

/** The waiting events of one organization and topic. */
export interface OutboxQueue {
  readonly orgId: string
  readonly topic: string
  /** When the queue may be routed: events of a lingering topic wait for others, to share messages with them. */
  readonly ripeAt: Date
  /** The id of its first event; null if a search did not find the queue. */
  readonly firstId: string | null
}

/** A position in the order of queues. */
export type QueueKey = Pick<OutboxQueue, 'orgId' | 'topic'>

/** A key before all queues. */
export const firstKey: QueueKey = { orgId: '00000000-0000-0000-0000-000000000000', topic: '' }

const lingers = columnsOf('webhookOutbox', { topic: 'text' }, { ms: 'integer' })
const lingerRows = Object.entries(topics).map(([topic, { lingerMs: ms }]) => ({ topic, ms }))

/** An id before all events. */
export const lowestId = '00000000-0000-0000-0000-000000000000'

export interface QueueSearch {
  readonly after: QueueKey
  /** Events with lower ids are left out, so that the search does not read those that are gone; see decideFloor(). */
  readonly fromId: string
  readonly limit: number
  readonly now: Date
  /**
   * Limits the events of all queues together; each ripe queue gets an equal share. Queues that have more, and a webhook that
   * gathers events, take turns instead: each round some of them get as many as fill a message.
   */
  readonly events: number
  /** Increases with each search. */
  readonly turn: number
  /** Events to leave out. */
  readonly exceptIds: readonly string[]
}

export interface FoundEvent extends Omit<WaitingEvent, 'sentTo'> {
  /** The only webhook that received the event when it was committed; null if there were others, or other events. */
  readonly webhookId: string | null
}

export interface FoundQueue {
  /** In order of id; never empty. */
  readonly events: readonly FoundEvent[]
  readonly subscribers: WaitingQueue['subscribers']
}

/** Queues in the order of their keys. */
export interface FoundQueues {
  readonly queues: readonly OutboxQueue[]
  /** The oldest events of each ripe queue, with their subscribers. */
  readonly waiting: readonly FoundQueue[]
  /** The queues that may have more events. */
  readonly more: readonly QueueKey[]
}

/** The longest event whose text comes with it. It bounds the texts of a round. */
const SHORT_BYTES = 4096

interface QueueRow extends OutboxQueue {
  readonly id: null
  /** The greatest number of events of the queue that are found; null if unlimited, and for a queue that is not ripe. */
  readonly taken: number | null
}

/** Organization and topic are in the row of the queue. */
type OfQueue<T> = Omit<T, 'orgId' | 'topic'>

interface SubscriberRow extends OfQueue<Subscriber> {
  readonly bytes: null
}

/** The row of a queue comes before its events and subscribers, both in the order of their ids. */
type FoundRow = { readonly place: string } & (QueueRow | OfQueue<FoundEvent> | SubscriberRow)

/**
 * When a queue is ripe. An event of the future was committed before the clock was set back, and has waited for long enough.
 * @param createdAt When its first event was committed.
 * @param lingerMs For how long its topic lingers.
 */
function ripeAt<V>(
  createdAt: RawBuilder<unknown>,
  lingerMs: RawBuilder<unknown>,
  now: Param<V, Date>,
): RawBuilder<Date> {
  return sql`case when ${createdAt} > ${now}::timestamptz + ${sql.lit(MIN_STEP_MS)} * interval '1 ms' then ${now}::timestamptz
    else ${createdAt} + coalesce(${lingerMs}, 0) * interval '1 ms' end`
}

/** The ids to leave out are a query, because PostgreSQL hashes it. It would compare each event with every element of an array. */
const search = statement<QueueSearch, FoundRow>(
  (param) => sql`
    with recursive queue as (
      (select org_id, topic, id, created_at from webhook_outbox
        where set_aside_at is null and id >= ${param('fromId')}::uuid and (org_id, topic) > (${param('after').map(({ orgId }) => orgId)}::uuid, ${param('after').map(({ topic }) => topic)}::text)
        order by org_id, topic, id limit 1)
      union all
      select next.* from queue cross join lateral (
        select o.org_id, o.topic, o.id, o.created_at from webhook_outbox o
        where o.set_aside_at is null and o.id >= ${param('fromId')}::uuid and (o.org_id, o.topic) > (queue.org_id, queue.topic)
        order by o.org_id, o.topic, o.id limit 1) next
    ), present as materialized (
      select q.org_id, q.topic, q.id as first_id, ${ripeAt(sql`q.created_at`, sql`k.ms`, param('now'))} as ripe_at, row_number() over () as place
      from (select * from queue limit ${param('limit')}) q left join ${rowsAs('k', lingers, lingerRows)} on k.topic = q.topic
    ), share as materialized (
      select ceil(${param('events')}::float8 / greatest(count(*), 1))::int as events from present where ripe_at <= ${param('now')}
    ), filling as materialized (
      select q.place, row_number() over () - 1 as number, count(*) over () as queues,
        greatest(count(*) over () * share.events / ${MAX_MESSAGE_EVENTS}::int, 1) as filled
      from present q cross join share
      where q.ripe_at <= ${param('now')} and share.events < ${MAX_MESSAGE_EVENTS} and exists (
        select from webhook_outbox o where o.set_aside_at is null and o.org_id = q.org_id and o.topic = q.topic
          and o.id >= q.first_id
        order by o.id offset share.events limit 1
      ) and exists (
        select from webhook w where ${isInOrgOf('w', 'q')} and w.enabled and q.topic = any(w.topics)
          and w.doc -> 'single_event_per_message' is distinct from 'true')
    ), found as materialized (
      select q.*, case when q.ripe_at > ${param('now')} then null when f.place is null then share.events
        when (f.number + f.queues - ${param('turn')}::bigint * f.filled % f.queues) % f.queues < f.filled then ${MAX_MESSAGE_EVENTS}
        else 0 end as taken
      from present q cross join share left join filling f on f.place = q.place
    ), event as (
      select q.place, e.* from found q cross join lateral (
        select o.id, o.org_id, o.created_at, o.site_id, o.bytes, o.routed_to, o.webhook_id, o.event from webhook_outbox o
        where q.ripe_at <= ${param('now')} and o.set_aside_at is null and o.org_id = q.org_id and o.topic = q.topic
          and o.id >= q.first_id and o.id not in (select unnest(${param('exceptIds')}::uuid[]))
        order by o.id limit q.taken) e
    ) ${selectFound(param('now'))}
  `,
)

/** Finds queues after `after`. A queue costs one index look-up, however long it is. */
export async function findQueues(reader: Reader, of: QueueSearch): Promise<FoundQueues> {
  return foundOf(await search(reader, of))
}

interface KnownIds {
  readonly ids: readonly string[]
  readonly now: Date
}

const selectKnown = statement<KnownIds, FoundRow>(
  (param) => sql`
    with known as materialized (
      select * from (select * from webhook_outbox where id = any(${param('ids')}::uuid[]) offset 0) o where set_aside_at is null
    ), found as materialized (
      select q.*, row_number() over () as place, null::int as taken, null::uuid as first_id from (
        select o.org_id, o.topic, ${ripeAt(sql`min(o.created_at)`, sql`min(k.ms)`, param('now'))} as ripe_at
        from known o left join ${rowsAs('k', lingers, lingerRows)} on k.topic = o.topic
        group by o.org_id, o.topic order by o.org_id, o.topic) q
    ), event as (
      select q.place, o.id, o.org_id, o.created_at, o.site_id, o.bytes, o.routed_to, o.webhook_id, o.event
      from known o join found q on q.org_id = o.org_id and q.topic = o.topic where q.ripe_at <= ${param('now')}
    ) ${selectFound(param('now'))}
  `,
)

/** Finds the queues of events that are known to wait. All other events of these queues must be younger. */
export async function findQueuesOf(reader: Reader, known: KnownIds): Promise<FoundQueues> {
  return foundOf(await selectKnown(reader, known))
}

/**
 * Selects each queue of `found`, the events of it in `event`, and its subscribers. The rows of events, which are many, repeat
 * nothing of their queue: its decoding would take longer than that of the rest.
 */
function selectFound<V>(now: Param<V, Date>): RawBuilder<FoundRow> {
  return sql`
    select q.place, q.org_id, q.topic, q.ripe_at, q.first_id, q.taken,
      null::uuid as id, null::uuid as site_id, null::integer as bytes, null::uuid as routed_to, null::uuid as webhook_id,
      null::text as json, null::boolean as single_event, null::text as filter, null::boolean as by_device
    from found q
    union all
    select e.place, null, null, null, null, null, e.id, e.site_id, e.bytes, e.routed_to, e.webhook_id,
      case when e.bytes <= ${SHORT_BYTES} then ${eventText('e')} end, null, null, null
    from event e
    union all
    select q.place, null, null, null, null, null, w.id, w.site_id, null, null, null, null,
      coalesce(w.doc -> 'single_event_per_message' = 'true', false), w.doc ->> 'filter',
      coalesce(w.doc ->> 'order' = 'device', false)
    from found q join webhook w on ${isInOrgOf('w', 'q')} and w.enabled and q.topic = any(w.topics)
    where q.ripe_at <= ${now} and q.taken is distinct from 0
    order by place, id nulls first
  `
}

function foundOf(rows: readonly FoundRow[]): FoundQueues {
  const found: { readonly queue: QueueRow; readonly events: FoundEvent[]; readonly subscribers: Subscriber[] }[] = []
  for (const row of rows) {
    const last = found.at(-1)
    if (row.id === null) found.push({ queue: row, events: [], subscribers: [] })
    else if (last !== undefined) {
      const { orgId, topic } = last.queue
      if (row.bytes === null) last.subscribers.push(Object.assign(row, { orgId }))
      else last.events.push(Object.assign(row, { orgId, topic }))
    }
  }
  return {
    queues: found.map(({ queue }) => queue),
    waiting: found.filter(({ events }) => events.length > 0),
    more: found.flatMap(({ queue, events }) => (queue.taken !== null && events.length >= queue.taken ? [queue] : [])),
  }
}

/** Reads the JSON texts of events, by their ids. An event is missing if its audit record has been deleted. */
export async function listEventTexts(reader: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; json: string | null }>`
    select o.id, ${eventText('o')} as json from webhook_outbox o where o.id = any(${ids}::uuid[])
  `.execute(reader)
  return new Map(rows.flatMap(({ id, json }) => (json === null ? [] : [[id, json] as const])))
}
