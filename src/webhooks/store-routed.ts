import { sql } from 'kysely'
import { type RoutingStep, routingParts } from '../events/store-outbox.ts'
import type { Db } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'
import type { LaneHealth } from './decide-lane.ts'
import type { LaneWebhook } from './store-deliver.ts'
import { type LaneKey, countPerLane, laneChangeColumns } from './store-lanes.ts'
import type { NewMessage } from './store.ts'

/** Leases lanes that are idle, so that their new messages can be sent without a claim. */
export interface DirectLease {
  /** The run of the server that sends the messages. */
  readonly runId: string
  readonly until: Date
}

/** A lane that the sender holds after new messages were added to it. */
export interface DirectLane extends LaneKey, LaneHealth {
  readonly epoch: string
  readonly vtime: number
  /** Null if the lane was held before. */
  readonly webhook: LaneWebhook | null
}

export interface RouteOptions {
  readonly at: Date
  /** Null if all messages have to be claimed. */
  readonly lease: DirectLease | null
  /** The least time that an idle lane starts with, so that idling earns no priority. */
  readonly vtimeFloor: number
}

export interface RoutedRows {
  /** The lanes that the sender holds. */
  readonly direct: readonly DirectLane[]
  /** True if some lanes have to be claimed. */
  readonly toClaim: boolean
  /** The organizations whose messages were inserted. */
  readonly orgIds: ReadonlySet<string>
}

const newColumns = columnsOf(
  'webhookMessage',
  { orgId: 'uuid', id: 'uuid', webhookId: 'uuid', topic: 'text', eventCount: 'integer', orderKey: 'text' },
  { bodyPlace: 'integer' },
)
const bodyColumns = columnsOf('webhookMessage', { body: 'bytea' })

/**
 * Takes events out of the outbox, or notes how far they are routed, and inserts their messages, in one statement that
 * waits for nobody: an organization with an event, a webhook or a lane that somebody has locked is left for later. A
 * message for a webhook that is disabled or deleted by now is dropped.
 *
 * A lane is leased if it is idle: not held by anybody, its breaker closed, and no message due. The others are made due, and
 * so are lanes with keyed messages, because only a claim knows which of those wait for others. A lane that is pulled is
 * never due.
 */
export async function routeMessages(
  db: Db,
  { steps, messages }: { readonly steps: readonly RoutingStep[]; readonly messages: readonly NewMessage[] },
  { at, lease, vtimeFloor }: RouteOptions,
): Promise<RoutedRows> {
  const runId = lease?.runId ?? null
  const routing = routingParts(steps, sql`org_id not in (select org_id from busy)`)
  const bodies = [...new Set(messages.map(({ body }) => body))]
  const placeOf = new Map(bodies.map((body, index) => [body, index + 1]))
  const placed = messages.map((message) => Object.assign(message, { bodyPlace: placeOf.get(message.body) ?? 0 }))
  const { rows } = await sql<Omit<DirectLane, 'webhook'> & LaneWebhook & { isNew: boolean; isHeld: boolean }>`
    with ${routing.locked}, lane as materialized (
      select k.*, w.site_id, w.doc, w.secrets,
        ${runId}::uuid is not null and not (l.keyed or l.pulled) and l.lease_until is null and l.open_until is null
          and (l.next_at is null or l.next_at > ${at}) as is_new,
        not (l.keyed or l.pulled) and coalesce(l.leased_by = ${runId}::uuid and l.lease_until > ${at}, false) as is_held
      from ${rowsAs('k', laneChangeColumns, countPerLane(messages))}
        join webhook w on w.org_id = k.org_id and w.id = k.webhook_id and w.enabled
        join webhook_lane l on l.org_id = k.org_id and l.webhook_id = k.webhook_id
      for key share of w skip locked for update of l skip locked
    ), busy as materialized (
      select org_id from step where id not in (select id from locked_step)
      union
      select k.org_id from ${rowsAs('k', laneChangeColumns, countPerLane(messages))}
        join webhook w on w.org_id = k.org_id and w.id = k.webhook_id and w.enabled
      where k.webhook_id not in (select webhook_id from lane)
    ), ${routing.removed}, message as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, order_key, due_at, created_at)
      select m.org_id, m.id, m.webhook_id, m.topic, b.body, m.event_count, m.order_key, ${at}::timestamptz, ${at}::timestamptz
      from ${rowsAs('m', newColumns, placed)} join lane k on k.webhook_id = m.webhook_id
        join ${rowsAs(
          'b',
          bodyColumns,
          bodies.map((body) => ({ body })),
          'place',
        )} on b.place = m.body_place
      where m.org_id not in (select org_id from busy)
    ), changed as (
      update webhook_lane l
      set pending = l.pending + k.messages,
        vtime = case when l.pending > 0 then l.vtime else greatest(l.vtime, ${vtimeFloor}::float8) end,
        next_at = case when k.is_new or k.is_held or l.pulled then l.next_at
          else least(l.next_at, greatest(l.open_until, ${at}::timestamptz)) end,
        lease_until = case when k.is_new then ${lease?.until ?? null}::timestamptz else l.lease_until end,
        leased_by = case when k.is_new then ${runId}::uuid else l.leased_by end,
        epoch = case when k.is_new then l.epoch + 1 else l.epoch end
      from lane k
      where l.org_id = k.org_id and l.webhook_id = k.webhook_id and k.org_id not in (select org_id from busy)
      returning l.org_id, l.webhook_id, l.epoch, l.vtime, l.failures, l.open_until, l.failing_since, k.is_new, k.is_held)
    select c.*, k.site_id, case when c.is_new then k.doc end as doc, case when c.is_new then k.secrets end as secrets
    from changed c join lane k on k.webhook_id = c.webhook_id
  `.execute(db)
  return {
    direct: rows
      .filter(({ isNew, isHeld }) => isNew || isHeld)
      .map(({ siteId, doc, secrets, isNew, isHeld: _, ...lane }) =>
        Object.assign(lane, { webhook: isNew ? { siteId, doc, secrets } : null }),
      ),
    toClaim: rows.some(({ isNew, isHeld }) => !isNew && !isHeld),
    orgIds: new Set(rows.map(({ orgId }) => orgId)),
  }
}
