import { type Selectable, sql } from 'kysely'
import type { Clock } from '../../platform/time/clock.ts'
import { type Db, type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, rowsAs, rowsUpdate } from '../../platform/database/rows.ts'
import type { WebhookBodyTable, WebhookDeliveryTable } from '../tables.ts'
import { type DueMessage, type MessagePlace, listDueMessages, noMessages } from './store-due.ts'
import type { HeldCount } from './admission/claimed-turns.ts'
import { type Reschedule, advanceFollowers, delayFollowers, isOneOf } from '../lanes/store-order.ts'
import { BREAKER_FAILURES, type LaneHealth } from '../lanes/decide-lane.ts'
import type { HeldLaneKey, LaneKey } from '../lanes/store.ts'
import { MAX_IN_MEMORY } from '../limits/limits.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'

export interface ClaimedLane extends LaneKey, LaneHealth {
  /** Increases with each claim: the holder of an older epoch has lost the lane. */
  readonly epoch: string
  readonly webhook: LaneWebhook
  /** In the order of delivery. */
  readonly messages: readonly DueMessage[]
  /** True when the database has no further message of the lane that is due. */
  readonly hasAll: boolean
  /** The place of the last of its messages; null if none was claimed. */
  readonly last: MessagePlace | null
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
  const messages = await listDueMessages(tx, claimable, { now, maxBytes, limit: MAX_IN_MEMORY })
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
      const { messages: ofLane, hasAll, last } = messages.get(lane.webhookId) ?? noMessages
      // An open breaker admits a single message.
      const isComplete = hasAll && lane.failures < BREAKER_FAILURES
      const webhook = { siteId, doc, secrets, version }
      return Object.assign(lane, { webhook, messages: ofLane, hasAll: isComplete, last })
    }),
  }
}

interface DueLane extends HeldLaneKey {
  /** True if messages wait for former ones of their key. */
  readonly keyed: boolean
  /** True if messages may wait for a retry that is due earlier by now. */
  readonly follows: boolean
}

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
    select l.org_id, l.webhook_id, l.epoch, l.keyed, l.followers_at is not null as follows
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
