import { type Selectable, sql } from 'kysely'
import type { Clock } from '../../platform/time/clock.ts'
import { type Db, type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, rowsAs, rowsUpdate } from '../../platform/database/rows.ts'
import type { PayloadPlace } from './payload-place.ts'
import type { WebhookBodyTable, WebhookDeliveryTable, WebhookMessageTable } from '../tables.ts'
import type { HeldCount } from './admission/claimed-turns.ts'
import { type Reschedule, advanceFollowers, delayFollowers, isOneOf } from '../lanes/store-order.ts'
import { BREAKER_FAILURES, type LaneHealth } from '../lanes/decide-lane.ts'
import { type LaneKey, laneKeyColumns } from '../lanes/store.ts'
import { MAX_IN_MEMORY } from '../limits.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'

export interface ClaimedLane extends LaneKey, LaneHealth {
  /** Increases with each claim: the holder of an older epoch has lost the lane. */
  readonly epoch: string
  readonly webhook: LaneWebhook
  /** In the order of delivery. */
  readonly messages: readonly DueMessage[]
  /** True when the database has no further message of the lane that is due. */
  readonly hasAll: boolean
  /** The time that its requests have used so far; the lane with the least is served first. */
  readonly vtime: number
}

export interface LaneWebhook {
  readonly siteId: string | null
  readonly doc: Record<string, unknown>
  /** Encrypted; see openWebhookSecrets. */
  readonly secrets: Buffer | null
  /** Changes whenever the webhook does. */
  readonly version: string
}

export interface DueMessage {
  readonly id: string
  readonly topic: string
  readonly body: Buffer
  /** Attempts made before. */
  readonly attempt: number
  /** Those of them whose answers requested a pause; they don't count towards the limit of attempts. */
  readonly pauses: number
  readonly orderKey: string | null
  /** Null before the first attempt. */
  readonly payload: PayloadPlace | null
}

export interface LaneClaim {
  readonly clock: Clock
  /** The run of the server that makes the claim. */
  readonly runId: string
  readonly leaseUntil: Date
  readonly limit: number
  /** Limits the bodies of all messages together; the first message is claimed whatever its size. */
  readonly maxBytes: number
  /** The number of lanes of the organization that may be claimed. */
  readonly lanesOf: (orgId: string) => number
  /** The number of lanes with messages of each organization that the caller has, if any. */
  readonly held: readonly HeldCount[]
  /** Organizations that have used up their share for now. */
  readonly busyOrgIds: readonly string[]
  /** The webhooks whose lanes may be claimed; null for all. */
  readonly onlyWebhookIds: readonly string[] | null
  readonly exceptWebhookIds: readonly string[]
}

const heldColumns = columnsOf('webhookLane', { orgId: 'uuid' }, { lanes: 'integer' })
const claimColumns = columnsOf('webhookLane', { orgId: 'uuid', webhookId: 'uuid' }, { firstDueAt: 'timestamptz' })

export interface Claimed {
  readonly lanes: readonly ClaimedLane[]
  /** True when the limits, or messages that are not yet in order, left other due lanes unclaimed. */
  readonly hasMore: boolean
}

/** Limits the messages of one lane in bytes; the first message is claimed whatever its size. */
const MAX_LANE_BYTES = 512 * 1024

/**
 * Leases due lanes with their webhooks and due messages: those of the organization with the fewest leased lanes first,
 * then the least served.
 */
export async function claimLanes(tx: Tx, claim: LaneClaim): Promise<Claimed> {
  const { clock, runId, leaseUntil, limit, maxBytes } = claim
  const due = await lockDueLanes(tx, claim)
  const admitted = admitLanes(due, claim)
  // What was committed before the locks is due by now; otherwise later messages, which are not claimed, would overtake it.
  const now = clock.now()
  const [following, ordered] = [admitted.filter((lane) => lane.follows), admitted.filter((lane) => !lane.follows)]
  await advanceFollowers(tx, following)
  const unseen = await delayFollowers(
    tx,
    ordered.filter(({ keyed }) => keyed),
    now,
  )
  const claimable = ordered.filter(({ webhookId }) => !unseen.has(webhookId))
  const messages = await listDueMessages(tx, claimable, { now, maxBytes })
  // A lane without due messages is claimed as well, so that its release corrects the time when it is due.
  const claims = claimable
    .filter(({ webhookId }) => messages.get(webhookId)?.messages.length !== 0)
    .map((lane) => Object.assign(lane, { firstDueAt: messages.get(lane.webhookId)?.firstDueAt ?? null }))
  const { rows: lanes } = await sql<LaneKey & LaneHealth & { epoch: string; vtime: number } & LaneWebhook>`
    update webhook_lane l
    set lease_until = ${leaseUntil}, leased_by = ${runId}, epoch = l.epoch + 1, due_from = coalesce(k.first_due_at, l.due_from)
    from webhook w, ${rowsAs('k', claimColumns, claims)}
    where ${isLaneOf('l', 'k')} and ${isWebhookOf('w', 'k')}
    returning l.org_id, l.webhook_id, l.epoch, l.vtime, l.failures, l.open_until, l.failing_since, w.site_id, w.doc, w.secrets, w.xmin::text as version
  `.execute(tx)
  return {
    hasMore: due.length === limit || claims.length < due.length,
    lanes: lanes.map(({ siteId, doc, secrets, version, ...lane }) => {
      const { messages: ofLane, hasAll } = messages.get(lane.webhookId) ?? none
      // An open breaker admits a single message.
      const isComplete = hasAll && lane.failures < BREAKER_FAILURES
      return Object.assign(lane, { webhook: { siteId, doc, secrets, version }, messages: ofLane, hasAll: isComplete })
    }),
  }
}

interface LaneMessages extends Pick<ClaimedLane, 'messages' | 'hasAll'> {
  /** When the first due message is due, even if it does not fit; null if there is none. */
  readonly firstDueAt: Date | null
}

interface DueLane extends LaneKey {
  /** True if messages wait for former ones of their key. */
  readonly keyed: boolean
  /** True if messages may wait for a retry that is due earlier by now. */
  readonly follows: boolean
}

const none: LaneMessages = { messages: [], hasAll: false, firstDueAt: null }

/**
 * Organizations take turns, so that one with a thousand lanes delays one with a single lane by one lane. The lanes with
 * messages that an organization has already leased count as its first turns.
 */
async function lockDueLanes(tx: Tx, claim: LaneClaim): Promise<DueLane[]> {
  const { clock, limit, held, busyOrgIds, onlyWebhookIds, exceptWebhookIds } = claim
  const now = clock.now()
  const { rows } = await sql<DueLane>`
    with due as (
      select d.org_id, d.webhook_id,
        coalesce(h.lanes, 0) + row_number() over (partition by d.org_id order by d.vtime, d.next_at) as turn
      from webhook_lane d left join ${rowsAs('h', heldColumns, held)} on h.org_id = d.org_id
      where d.next_at <= ${now} and (d.lease_until is null or d.lease_until <= ${now})
        and not d.org_id = any(${busyOrgIds}::uuid[]) and not d.webhook_id = any(${exceptWebhookIds}::uuid[])
        and (${onlyWebhookIds}::uuid[] is null or d.webhook_id = any(${onlyWebhookIds}::uuid[]))
    )
    select l.org_id, l.webhook_id, l.keyed, l.followers_at is not null as follows
    from due join webhook_lane l on ${isLaneOf('l', 'due')}
    where l.next_at <= ${now} and (l.lease_until is null or l.lease_until <= ${now})
    order by due.turn, l.vtime, l.next_at limit ${limit} for update of l skip locked
  `.execute(tx)
  return rows
}

/** Returns the first lanes of each organization, as many as it may claim. */
function admitLanes(due: readonly DueLane[], { lanesOf }: LaneClaim): DueLane[] {
  const counts = new Map<string, number>()
  return due.filter(({ orgId }) => {
    const count = (counts.get(orgId) ?? 0) + 1
    counts.set(orgId, count)
    return count <= lanesOf(orgId)
  })
}

/**
 * Lists due messages of each lane, the first ones of all lanes before the second ones, until `maxBytes` is
 * reached. A lane maps to an empty list when none of its due messages fits.
 */
async function listDueMessages(
  tx: Tx,
  lanes: readonly LaneKey[],
  { now, maxBytes }: Pick<LaneClaim, 'maxBytes'> & { readonly now: Date },
): Promise<Map<string, LaneMessages>> {
  if (lanes.length === 0) return new Map()
  const { rows } = await sql<FoundMessage & { webhookId: string }>`
    select webhook_id, id, topic, attempt, pauses, order_key, case when rank = 1 then due_at end as due_at, payload_id, payload_at,
      case when fits and (bytes_all <= ${maxBytes} or place = 1) then body end as body
    from (
      select m.*, sum(case when m.fits then octet_length(m.body) else 0 end) over each_rank as bytes_all,
        row_number() over each_rank as place
      from (
        select k.lane, l.webhook_id, d.id, d.topic, d.attempt, d.pauses, d.order_key, d.due_at, d.payload_id, d.payload_at, d.body, d.rank, d.fits
        from ${rowsAs('k', laneKeyColumns, lanes, 'lane')}
          join webhook_lane l on ${isLaneOf('l', 'k')}
          join webhook w on ${isWebhookOf('w', 'k')}
          cross join lateral (
            select m.*, row_number() over earlier as rank,
              row_number() over earlier = 1 or sum(octet_length(m.body)) over earlier <= ${MAX_LANE_BYTES} as fits
            from webhook_message m
            where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at >= l.due_from and m.due_at <= ${now}
              and w.enabled and (l.open_until is null or l.open_until <= ${now})
            window earlier as (order by m.due_at, m.id)
            order by m.due_at, m.id
            limit case when l.failures >= ${BREAKER_FAILURES} then 1 else ${MAX_IN_MEMORY} end) d) m
      window each_rank as (order by m.rank, m.lane)) sized
    order by webhook_id, rank
  `.execute(tx)
  const ofLanes = Map.groupBy(rows, ({ webhookId }) => webhookId)
  return new Map([...ofLanes].map(([webhookId, ofLane]) => [webhookId, laneMessages(ofLane)]))
}

/** The body is null if it does not fit. Only the first message of a lane has the time when it is due. */
type FoundMessage = Omit<DueMessage, 'body' | 'payload'> &
  Pick<Selectable<WebhookMessageTable>, 'payloadId' | 'payloadAt'> & {
    readonly body: Buffer | null
    readonly dueAt: Date | null
  }

function laneMessages(due: readonly FoundMessage[]): LaneMessages {
  const messages = due.flatMap(({ id, topic, attempt, pauses, orderKey, body, payloadId, payloadAt }) => {
    const payload = payloadId === null || payloadAt === null ? null : { deliveryId: payloadId, at: payloadAt }
    return body === null ? [] : [{ id, topic, attempt, pauses, orderKey, body, payload }]
  })
  const hasAll = messages.length === due.length && due.length < MAX_IN_MEMORY
  return { messages, hasAll, firstDueAt: due[0]?.dueAt ?? null }
}

/**
 * Finds when the next lane is due, and its lease has ended; null when there is none. It reads the lanes that are due before the first one
 * without a lease, however many are due later.
 */
export async function findNextDue(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    with unleased as materialized (
      select next_at from webhook_lane where next_at is not null and (lease_until is null or lease_until <= next_at)
      order by next_at limit 1)
    select least(
      (select next_at from unleased),
      (select min(lease_until) from webhook_lane where next_at < coalesce((select next_at from unleased), 'infinity'))) as at
  `.execute(db)
  return rows[0]?.at ?? null
}

/** Deletes messages that need no further attempt. @returns The lane of each deleted message. */
export async function deleteMessages(tx: Tx, ids: readonly string[]): Promise<LaneKey[]> {
  return tx.deleteFrom('webhookMessage').where('id', '=', anyOf(ids)).returning(['orgId', 'webhookId']).execute()
}

const rescheduleColumns = columnsOf('webhookMessage', {
  id: 'uuid',
  attempt: 'integer',
  pauses: 'integer',
  dueAt: 'timestamptz',
  payloadId: 'uuid',
  payloadAt: 'timestamptz',
})

const reschedule = rowsUpdate(rescheduleColumns, (param) => ({ key: ['id'], where: isOneOf(param('rows')) }))

export async function rescheduleMessages(tx: Tx, rows: readonly Reschedule[]): Promise<void> {
  await reschedule(tx, rows, {})
}

/** One attempt, as in the results of a search. */
export interface DeliveryRecord extends Selectable<WebhookDeliveryTable> {
  readonly exchange: Pick<
    Selectable<WebhookBodyTable>,
    | 'reqHeaders'
    | 'headersReduced'
    | 'signatures'
    | 'reqPayload'
    | 'respHeaders'
    | 'respBody'
    | 'remoteAddress'
    | 'payloadId'
    | 'payloadAt'
    | 'payloadBytes'
  >
}

export const deliveryColumns = columnsOf('webhookDelivery', {
  orgId: 'uuid',
  id: 'uuid',
  webhookId: 'uuid',
  messageId: 'uuid',
  siteId: 'uuid',
  topic: 'text',
  attempt: 'integer',
  status: 'text',
  statusCode: 'integer',
  error: 'text',
  reqUrl: 'text',
  createdAt: 'timestamptz',
  durationMs: 'integer',
  final: 'boolean',
  nextAttempt: 'timestamptz',
})

export const bodyColumns = columnsOf('webhookBody', {
  orgId: 'uuid',
  deliveryId: 'uuid',
  reqHeaders: 'text',
  headersReduced: 'boolean',
  signatures: 'bytea',
  reqPayload: 'text',
  respHeaders: 'text',
  respBody: 'text',
  remoteAddress: 'text',
  payloadId: 'uuid',
  payloadAt: 'timestamptz',
  payloadBytes: 'integer',
  createdAt: 'timestamptz',
})

export async function insertDeliveries(tx: Tx, records: readonly DeliveryRecord[]): Promise<void> {
  await insertRows(tx, deliveryColumns, records)
  await insertRows(tx, bodyColumns, records.map(bodyOf))
}

/** Returns what was sent and answered, for its own table. */
export function bodyOf({ orgId, id, createdAt, exchange }: DeliveryRecord): RowOf<typeof bodyColumns> {
  return { ...exchange, orgId, deliveryId: id, createdAt }
}
