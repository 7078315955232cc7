import { type RawBuilder, sql } from 'kysely'
import { type RoutingStep, routingParts } from '../../events/store-outbox.ts'
import type { Db } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import type { LaneHealth } from '../lanes/decide-lane.ts'
import type { LaneWebhook } from '../delivery/store.ts'
import { OVERFLOWING_MS } from '../health/decide-state.ts'
import { type LaneKey, countPerLane, dueFromWith } from '../lanes/store.ts'
import type { NewMessage } from '../store.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'
import { type WebhookRoom, noRoom } from './admit-messages.ts'

/** Leases lanes that are idle, so that their new messages can be sent without a claim. */
export interface DirectLease {
  /** The run of the server that sends the messages. */
  readonly runId: string
  readonly until: Date
  /**
   * Lends up to `wanted` messages that the row of a held lane counts and that are gone: as many can be added without changing
   * the row. Null if the sender has no such lane.
   */
  lend(lane: LaneKey, wanted: number): LaneLoan | null
}

/** Applies while the lane is held in this epoch. */
export interface LaneLoan {
  readonly epoch: string
  readonly messages: number
  /** If these messages do not suffice, the row counts this many messages more than are added. */
  readonly ahead: number
}

/** A lane that the sender has after new messages were added to it. */
export interface DirectLane extends LaneKey, LaneHealth {
  readonly epoch: string
  readonly vtime: number
  /** How much of what the sender has lent was used; negative if the row counts messages ahead. */
  readonly used: number
  /** Null if the sender had the lane before. */
  readonly webhook: LaneWebhook | null
}

export interface RouteOptions {
  readonly at: Date
  /** Null if all messages have to be claimed. */
  readonly lease: DirectLease | null
  /** The least time that an idle lane starts with, so that idling earns no priority. */
  readonly vtimeFloor: number
  /** The number of messages that may wait for a webhook. */
  readonly maxPending: number
}

export interface RoutedRows {
  /** The lanes that the sender has. */
  readonly direct: readonly DirectLane[]
  /** True if some lanes have to be claimed. */
  readonly toClaim: boolean
  /** The inserted messages, without those of webhooks that have no room. */
  readonly inserted: readonly NewMessage[]
  /** The organizations that were left for later. */
  readonly busyOrgIds: ReadonlySet<string>
}

const newColumns = columnsOf(
  'webhookMessage',
  { orgId: 'uuid', id: 'uuid', webhookId: 'uuid', topic: 'text', eventCount: 'integer', orderKey: 'text' },
  { bodyPlace: 'integer', lanePlace: 'integer' },
)
const bodyColumns = columnsOf('webhookMessage', { body: 'bytea' })
const laneColumns = columnsOf(
  'webhookLane',
  { orgId: 'uuid', webhookId: 'uuid' },
  {
    ...{ messages: 'integer', dropped: 'integer', shared: 'integer', perWebhook: 'integer' },
    ...{ lentEpoch: 'bigint', lent: 'integer', ahead: 'integer' },
  },
)

/** The data that a round writes. */
export interface RoutedMessages {
  readonly steps: readonly RoutingStep[]
  readonly messages: readonly NewMessage[]
  /** Messages that have no room, whatever waits for their webhooks; they are only counted. */
  readonly dropped: readonly LaneKey[]
  /** The rooms of the webhooks of all these messages. */
  readonly rooms: ReadonlyMap<string, WebhookRoom>
}

interface RouteValues {
  readonly steps: readonly RoutingStep[]
  readonly lanes: readonly RowOf<typeof laneColumns>[]
  readonly placed: readonly RowOf<typeof newColumns>[]
  readonly bodies: readonly RowOf<typeof bodyColumns>[]
  readonly at: Date
  readonly runId: string | null
  readonly leaseUntil: Date | null
  readonly vtimeFloor: number
  readonly maxPending: number
}

const route = statement<RouteValues, RoutedRow>((param) => {
  const routing = routingParts(param('steps'), sql`org_id not in (select org_id from busy)`)
  /** How many messages the lane `k` may accept in addition to those that it counts; not positive if none. */
  const roomWith = (pending: RawBuilder<unknown>) => sql`least(
    k.shared + greatest(k.per_webhook - ${pending}, 0), ${param('maxPending')}::integer - ${pending})`
  return sql`
    with ${routing.locked}, ready as materialized (
      select k.*, w.site_id, w.doc, w.secrets, w.xmin::text as version,
        l.pulled, l.pending, l.due_from, l.epoch, l.failures, l.open_until, l.failing_since,
        case when l.pending > 0 then l.vtime else greatest(l.vtime, ${param('vtimeFloor')}::float8) end as vtime,
        ${param('runId')}::uuid is not null and not (l.keyed or l.pulled) and l.lease_until is null
          and (l.open_until is null or (l.failures = 0 and l.open_until <= ${param('at')}))
          and (l.next_at is null or l.next_at > ${param('at')}) and ${roomWith(sql`l.pending`)} > 0 and k.messages > 0 as is_new,
        not (l.keyed or l.pulled) and coalesce(l.leased_by = ${param('runId')}::uuid and l.lease_until > ${param('at')}, false) as is_held
      from ${rowsAs('k', laneColumns, param('lanes'))}
        join webhook w on ${isWebhookOf('w', 'k')} and w.enabled
        join webhook_lane l on ${isLaneOf('l', 'k')}
      for key share of w skip locked for no key update of l skip locked
    ), lane as materialized (
      select a.*, case when a.accepted > a.available then a.available - a.counted_ahead else a.accepted end as used,
        a.is_held and a.accepted <= a.available and a.messages + a.dropped = a.accepted and a.due_from <= ${param('at')} as is_counted
      from (
        select k.*, h.available, h.counted_ahead,
          greatest(least(k.messages, ${roomWith(sql`k.pending`)} + h.available), 0) as accepted
        from ready k cross join lateral (
          select case when o.is_ours then k.lent else 0 end as available, case when o.is_ours then k.ahead else 0 end as counted_ahead
          from (select coalesce(k.is_held and k.lent_epoch = k.epoch, false) as is_ours) o) h) a
    ), busy as materialized (
      select org_id from step where id not in (select id from locked_step)
      union
      select k.org_id from ${rowsAs('k', laneColumns, param('lanes'))}
        join webhook w on ${isWebhookOf('w', 'k')} and w.enabled
      where k.webhook_id not in (select webhook_id from lane)
    ), ${routing.removed}, message as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, order_key, due_at, created_at)
      select m.org_id, m.id, m.webhook_id, m.topic, b.body, m.event_count, m.order_key, ${param('at')}::timestamptz, ${param('at')}::timestamptz
      from ${rowsAs('m', newColumns, param('placed'))} join lane k on k.webhook_id = m.webhook_id
        join ${rowsAs('b', bodyColumns, param('bodies'), 'place')} on b.place = m.body_place
      where m.lane_place <= k.accepted and m.org_id not in (select org_id from busy)
    ), changed as (
      update webhook_lane l
      set pending = l.pending + k.accepted - k.used,
        due_from = ${dueFromWith(sql`${param('at')}::timestamptz`)},
        overflowed = l.overflowed + k.messages + k.dropped - k.accepted,
        overflowing_since = case when k.messages + k.dropped > k.accepted
            and coalesce(l.overflowed_at + ${sql.lit(OVERFLOWING_MS)} * interval '1 ms' < ${param('at')}::timestamptz, true)
          then ${param('at')}::timestamptz else l.overflowing_since end,
        overflowed_at = case when k.messages + k.dropped > k.accepted then ${param('at')}::timestamptz else l.overflowed_at end,
        vtime = k.vtime,
        next_at = case when k.is_new or k.is_held or l.pulled or k.accepted = 0 then l.next_at
          else least(l.next_at, greatest(l.open_until, ${param('at')}::timestamptz)) end,
        lease_until = case when k.is_new then ${param('leaseUntil')}::timestamptz else l.lease_until end,
        leased_by = case when k.is_new then ${param('runId')}::uuid else l.leased_by end,
        epoch = case when k.is_new then l.epoch + 1 else l.epoch end
      from lane k
      where ${isLaneOf('l', 'k')} and k.org_id not in (select org_id from busy)
        and not k.is_counted)
    select b.busy_org_ids, k.org_id, k.webhook_id, case when k.is_new then k.epoch + 1 else k.epoch end as epoch, k.vtime,
      k.failures, k.open_until, k.failing_since, k.is_new, k.is_held, k.pulled, k.accepted, k.used, k.site_id,
      case when k.is_new then k.doc end as doc, case when k.is_new then k.secrets end as secrets, k.version
    from (select coalesce(array_agg(org_id), '{}') as busy_org_ids from busy) b
      left join lane k on k.org_id not in (select org_id from busy)
  `
})

/**
 * Removes events from the outbox, or records how far they are routed, and inserts their messages, in one statement that
 * never waits: an organization with an event, a webhook or a lane that another transaction has locked is left for
 * later. A message for a webhook that is disabled or deleted by now is dropped.
 *
 * Messages beyond the limit of a webhook, or of its organization, are counted and not inserted. A lane with few messages accepts
 * more although its organization has no room; see WebhookRoom.
 *
 * A lane is leased if it is idle: without a lease, its breaker closed, no pause, and no message due. The others are made due, and
 * so are lanes with keyed messages, because only a claim knows which of those wait for others. A lane that is pulled is
 * never due. The row of a held lane does not change if it counts enough messages that are gone; otherwise it counts some
 * ahead. See SpareCount.
 */
export async function routeMessages(
  db: Db,
  { steps, messages, dropped, rooms }: RoutedMessages,
  { at, lease, vtimeFloor, maxPending }: RouteOptions,
): Promise<RoutedRows> {
  const bodies = [...new Set(messages.map(({ body }) => body))]
  const placeOf = new Map(bodies.map((body, index) => [body, index + 1]))
  const lanePlaces = placesInLanes(messages)
  const rows = await route(db, {
    steps,
    lanes: laneCounts(messages, dropped).map((lane) => {
      const loan = lease?.lend(lane, lane.messages) ?? null
      const { shared, perWebhook } = rooms.get(lane.webhookId) ?? noRoom
      return Object.assign(lane, {
        shared,
        perWebhook,
        lentEpoch: loan?.epoch ?? null,
        lent: loan?.messages ?? 0,
        ahead: loan?.ahead ?? 0,
      })
    }),
    placed: messages.map((message, index) =>
      Object.assign({}, message, { bodyPlace: placeOf.get(message.body) ?? 0, lanePlace: lanePlaces[index] ?? 0 }),
    ),
    bodies: bodies.map((body) => ({ body })),
    at,
    runId: lease?.runId ?? null,
    leaseUntil: lease?.until ?? null,
    vtimeFloor,
    maxPending,
  })
  const accepted = new Map(rows.map((row) => [row.webhookId, row.accepted ?? 0]))
  return {
    direct: rows.flatMap(directLane),
    toClaim: rows.some(({ isNew, isHeld, pulled, accepted }) => !isNew && !isHeld && !pulled && (accepted ?? 0) > 0),
    inserted: messages.filter(({ webhookId }, index) => (lanePlaces[index] ?? 0) <= (accepted.get(webhookId) ?? 0)),
    busyOrgIds: new Set(rows[0]?.busyOrgIds),
  }
}

/** The lane is missing where no message was routed. */
type RoutedRow = Omit<DirectLane, 'webhook'> &
  LaneWebhook & {
    readonly busyOrgIds: readonly string[]
    readonly isNew: boolean
    readonly isHeld: boolean
    readonly pulled: boolean
    readonly accepted: number | null
  }

function directLane({ siteId, doc, secrets, version, ...row }: RoutedRow): DirectLane[] {
  const { busyOrgIds: _, isNew, isHeld, pulled: __, accepted, ...lane } = row
  if ((accepted ?? 0) === 0 || !(isNew || isHeld)) return []
  return [{ ...lane, webhook: isNew ? { siteId, doc, secrets, version } : null }]
}

/** Returns the place of each message among those of its webhook, from 1. */
function placesInLanes(messages: readonly LaneKey[]): number[] {
  const counts = new Map<string, number>()
  return messages.map(({ webhookId }) => {
    const place = (counts.get(webhookId) ?? 0) + 1
    counts.set(webhookId, place)
    return place
  })
}

interface LaneCounts extends LaneKey {
  readonly messages: number
  readonly dropped: number
}

function laneCounts(messages: readonly LaneKey[], dropped: readonly LaneKey[]): LaneCounts[] {
  const droppedOf = new Map(countPerLane(dropped).map((lane) => [lane.webhookId, lane]))
  const counted = countPerLane(messages).map((lane) =>
    Object.assign(lane, { dropped: droppedOf.get(lane.webhookId)?.messages ?? 0 }),
  )
  const withMessages = new Set(counted.map(({ webhookId }) => webhookId))
  const others = [...droppedOf.values()].filter(({ webhookId }) => !withMessages.has(webhookId))
  return [...counted, ...others.map(({ messages: dropped, ...lane }) => Object.assign(lane, { messages: 0, dropped }))]
}
