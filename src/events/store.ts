import { sql } from 'kysely'
import { uuidv7 } from '../platform/uuidv7.ts'
import type { InOrg } from '../access/scope.ts'
import { EncodedJson, type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { copyRows } from '../platform/database/copy-rows.ts'
import { columnsOf, insertRows } from '../platform/database/rows.ts'
import { splitByBytesLazily } from '../platform/database/split.ts'
import { writeParts } from '../platform/database/write-parts.ts'
import { type WokenRow, wakeAfterCommit } from '../platform/database/wakes.ts'
import type { Topic, TopicEvents } from './topics.ts'

/** An event of any topic, with the shape of that topic. */
export type NewOutboxEvent = {
  [T in Topic]: {
    readonly orgId: string
    readonly siteId: string | null
    readonly topic: T
    readonly event: TopicEvents[T]
  }
}[Topic]

/** Bounds the rows of one statement. */
export const partLimits = { count: 1000, bytes: 4 * 1024 * 1024 }

/** Encodes events once, for their lengths and for the database, and splits them. */
function encodedParts<T extends { readonly event: object }>(
  rows: Iterable<T>,
): Generator<(Omit<T, 'event'> & { readonly event: EncodedJson })[]> {
  return splitByBytesLazily(encodedRows(rows), ({ event }) => event.text.length, partLimits)
}

function* encodedRows<T extends { readonly event: object }>(rows: Iterable<T>) {
  for (const row of rows) yield Object.assign({}, row, { event: new EncodedJson(row.event) })
}

const outboxColumns = columnsOf('webhookOutbox', {
  id: 'uuid',
  orgId: 'uuid',
  siteId: 'uuid',
  topic: 'text',
  event: 'jsonb',
  createdAt: 'timestamptz',
})

/** More events than this are filtered first, so that events without subscribers are not encoded. */
const MAX_FILTERED_BY_INSERT = 8

/**
 * Inserts the events that a webhook subscribes to, and wakes the router once `tx` has committed. The router looks up
 * the subscribers again.
 */
export async function insertOutbox(tx: Tx, events: readonly NewOutboxEvent[], at: Date): Promise<void> {
  const isFew = events.length <= MAX_FILTERED_BY_INSERT
  const rows = isFew ? events : await findHeard(tx, events)
  const insert = isFew ? insertHeard : copyAll
  await writeParts(encodedParts(rows), async (part) => {
    const heard = await insert(
      tx,
      part.map((row) => Object.assign(row, { id: uuidv7() })),
      at,
    )
    wakeRouter(
      tx,
      heard.map(({ id, orgId, topic }) => ({ id, orgId, topic, webhookId: null, json: null })),
    )
  })
}

type OutboxRow = Omit<NewOutboxEvent, 'event'> & { readonly id: string; readonly event: EncodedJson }

/** @returns The rows that a webhook subscribes to. The others are not inserted. */
async function insertHeard(tx: Tx, rows: readonly OutboxRow[], at: Date): Promise<readonly OutboxRow[]> {
  const inserted = await insertRows(tx, outboxColumns, rows, { every: { createdAt: at }, tail: returningHeard })
  const ids = new Set(inserted.map(({ id }) => id))
  return rows.filter(({ id }) => ids.has(id))
}

async function copyAll(tx: Tx, rows: readonly OutboxRow[], at: Date): Promise<readonly OutboxRow[]> {
  await copyRows(tx, outboxColumns, rows, { every: { createdAt: at } })
  return rows
}

/** An event that a commit has added to the outbox. */
export interface QueuedEvent extends WokenRow {
  readonly orgId: string
  readonly topic: string
  /**
   * The only webhook that receives the event; null if others do, or if the event was inserted with others. Other statements
   * of its transaction may have inserted some.
   */
  readonly webhookId: string | null
  /** The stored event; null if `webhookId` is. */
  readonly json: string | null
}

export function isQueuedEvent(row: WokenRow | QueuedEvent): row is QueuedEvent {
  return 'orgId' in row && 'json' in row
}

/** Wakes the router with these events once `tx` has committed. */
export function wakeRouter(tx: Tx, events: readonly QueuedEvent[]): void {
  if (events.length === 0) return
  wakeAfterCommit(
    tx,
    'outbox',
    events.map(({ id }) => id),
    events,
  )
}

/** The same condition as findHeard, for a row `new`. */
const isHeard = sql`exists (select from event_subscription s
  where s.org_id = new.org_id and s.topic = new.topic
    and (new.site_id = any(s.site_ids) or array_position(s.site_ids, null) is not null))`

const returningHeard = sql<{ id: string }>`where ${isHeard} returning id`

/** Returns the events that an enabled webhook subscribes to: one of their site, or of their organization. */
async function findHeard(tx: Tx, events: readonly NewOutboxEvent[]): Promise<readonly NewOutboxEvent[]> {
  const orgIds = new Set(events.map(({ orgId }) => orgId))
  const rows = await tx
    .selectFrom('eventSubscription')
    .selectAll()
    .where('orgId', '=', anyOf([...orgIds]))
    .execute()
  const placesOf = new Map(rows.map(({ orgId, topic, siteIds }) => [`${orgId} ${topic}`, new Set(siteIds)]))
  return events.filter(({ orgId, topic, siteId }) => {
    const places = placesOf.get(`${orgId} ${topic}`)
    return places !== undefined && (places.has(null) || places.has(siteId))
  })
}

/** Lists the topics of which a webhook of the organization, or of a site of it, gets events. */
export async function listHeardTopics(reader: Reader, { orgId }: Pick<InOrg, 'orgId'>): Promise<ReadonlySet<string>> {
  const rows = await reader.selectFrom('eventSubscription').select('topic').where('orgId', '=', orgId).execute()
  return new Set(rows.map(({ topic }) => topic))
}

/** True if a webhook of the organization, or of a site of it, gets events of the topic. */
export async function hasSubscribers(reader: Reader, { orgId }: InOrg, topic: Topic): Promise<boolean> {
  const row = await reader
    .selectFrom('eventSubscription')
    .select('topic')
    .where('orgId', '=', orgId)
    .where('topic', '=', topic)
    .executeTakeFirst()
  return row !== undefined
}

const mxedgeEventColumns = columnsOf('mxedgeEvent', {
  orgId: 'uuid',
  id: 'uuid',
  mxedgeId: 'uuid',
  mxclusterId: 'uuid',
  siteId: 'uuid',
  type: 'text',
  event: 'jsonb',
  createdAt: 'timestamptz',
})

export async function insertMxedgeEvents(
  tx: Tx,
  events: readonly TopicEvents['mxedge-events'][],
  at: Date,
): Promise<void> {
  const rows = events.map((event) => ({
    orgId: event.org_id,
    id: uuidv7(),
    mxedgeId: event.mxedge_id,
    mxclusterId: event.mxcluster_id ?? null,
    siteId: event.site_id ?? null,
    type: event.type,
    event,
  }))
  for (const part of encodedParts(rows)) await insertRows(tx, mxedgeEventColumns, part, { every: { createdAt: at } })
}
