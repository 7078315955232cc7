import { type Selectable, sql } from 'kysely'
import { type Db, type Tx, anyOf } from '../platform/db.ts'
import type { WebhookBodyTable, WebhookDeliveryTable } from '../platform/schema/webhooks.ts'
import { BREAKER_FAILURES, type LaneHealth } from './decide-lane.ts'
import type { LaneKey } from './store-lanes.ts'

export interface ClaimedLane extends LaneKey, LaneHealth {
  /** Grows with each claim: whoever holds an older one has lost the lane. */
  readonly epoch: string
  readonly webhook: LaneWebhook
  /** In the order they are to be sent. */
  readonly messages: readonly DueMessage[]
}

export interface LaneWebhook {
  readonly siteId: string | null
  readonly doc: Record<string, unknown>
  /** Sealed. */
  readonly secrets: Buffer | null
}

export interface DueMessage {
  readonly id: string
  readonly topic: string
  readonly body: Buffer
  /** Attempts made before. */
  readonly attempt: number
}

export interface LaneClaim {
  readonly now: Date
  readonly leaseUntil: Date
  readonly limit: number
  /** Organizations and webhooks that have used up their share for now. */
  readonly busyOrgIds: readonly string[]
  readonly busyWebhookIds: readonly string[]
}

const MAX_MESSAGES = 64
/** Memory that the messages of one lane may take; the first is taken whatever its size. */
const MAX_BYTES = 512 * 1024

/** Leases lanes that are due, the least served first, with their webhooks and due messages. */
export async function claimLanes(tx: Tx, claim: LaneClaim): Promise<ClaimedLane[]> {
  const { now, leaseUntil, limit, busyOrgIds, busyWebhookIds } = claim
  const { rows: lanes } = await sql<LaneKey & LaneHealth & { epoch: string } & LaneWebhook>`
    with due as (
      select org_id, webhook_id from webhook_lane
      where next_at <= ${now} and (lease_until is null or lease_until <= ${now})
        and not org_id = any(${busyOrgIds}::uuid[]) and not webhook_id = any(${busyWebhookIds}::uuid[])
      order by vtime, next_at limit ${limit} for update skip locked)
    update webhook_lane l set lease_until = ${leaseUntil}, epoch = l.epoch + 1
    from due, webhook w
    where l.org_id = due.org_id and l.webhook_id = due.webhook_id and w.org_id = due.org_id and w.id = due.webhook_id
    returning l.org_id, l.webhook_id, l.epoch, l.failures, l.open_until, w.site_id, w.doc, w.secrets
  `.execute(tx)
  const messages = await listDueMessages(tx, lanes, now)
  return lanes.map(({ orgId, webhookId, epoch, failures, openUntil, siteId, doc, secrets }) => ({
    orgId,
    webhookId,
    epoch,
    failures,
    openUntil,
    webhook: { siteId, doc, secrets },
    messages: messages.get(webhookId) ?? [],
  }))
}

async function listDueMessages(tx: Tx, lanes: readonly LaneKey[], now: Date): Promise<Map<string, DueMessage[]>> {
  if (lanes.length === 0) return new Map()
  const { rows } = await sql<DueMessage & { webhookId: string }>`
    select l.webhook_id, m.id, m.topic, m.body, m.attempt
    from webhook_lane l
      join unnest(${lanes.map(({ orgId }) => orgId)}::uuid[], ${lanes.map(({ webhookId }) => webhookId)}::uuid[])
        as k (org_id, webhook_id) on k.org_id = l.org_id and k.webhook_id = l.webhook_id
      join webhook w on w.org_id = l.org_id and w.id = l.webhook_id
      cross join lateral (
        select d.*, sum(octet_length(d.body)) over (order by d.due_at, d.id) - octet_length(d.body) as bytes_before
        from webhook_message d
        where d.org_id = l.org_id and d.webhook_id = l.webhook_id and d.due_at <= ${now}
          and (d.topic = 'ping' or (w.enabled and (l.open_until is null or l.open_until <= ${now})))
        order by d.due_at, d.id
        limit case when l.failures >= ${BREAKER_FAILURES} then 1 else ${MAX_MESSAGES} end) m
    where m.bytes_before < ${MAX_BYTES}
    order by l.webhook_id, m.due_at, m.id
  `.execute(tx)
  return Map.groupBy(rows, ({ webhookId }) => webhookId)
}

/** When the next lane that nobody holds is due; null when none is. */
export async function findNextDue(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select min(greatest(next_at, lease_until)) as at from webhook_lane where next_at is not null
  `.execute(db)
  return rows[0]?.at ?? null
}

/** Removes messages that need no further attempt. @returns The lane of each that was still there. */
export async function deleteMessages(tx: Tx, orgIds: readonly string[], ids: readonly string[]): Promise<LaneKey[]> {
  return tx
    .deleteFrom('webhookMessage')
    .where('orgId', '=', anyOf(orgIds))
    .where('id', '=', anyOf(ids))
    .returning(['orgId', 'webhookId'])
    .execute()
}

/** Counts deleted messages out of their lanes, which have to be locked. */
export async function subtractFromLanes(
  tx: Tx,
  changes: readonly (LaneKey & { readonly messages: number })[],
): Promise<void> {
  await sql`
    update webhook_lane l set pending = l.pending - k.messages
    from unnest(${changes.map(({ orgId }) => orgId)}::uuid[], ${changes.map(({ webhookId }) => webhookId)}::uuid[],
      ${changes.map(({ messages }) => messages)}::integer[]) as k (org_id, webhook_id, messages)
    where l.org_id = k.org_id and l.webhook_id = k.webhook_id
  `.execute(tx)
}

export interface Reschedule {
  readonly orgId: string
  readonly id: string
  /** Attempts made so far. */
  readonly attempt: number
  readonly dueAt: Date
}

export async function rescheduleMessages(tx: Tx, rows: readonly Reschedule[]): Promise<void> {
  await sql`
    update webhook_message m set attempt = k.attempt, due_at = k.due_at
    from unnest(${rows.map(({ orgId }) => orgId)}::uuid[], ${rows.map(({ id }) => id)}::uuid[],
      ${rows.map(({ attempt }) => attempt)}::integer[], ${rows.map(({ dueAt }) => dueAt)}::timestamptz[])
      as k (org_id, id, attempt, due_at)
    where m.org_id = k.org_id and m.id = k.id
  `.execute(tx)
}

/** One attempt, as it is kept for the search. */
export interface DeliveryRecord extends Selectable<WebhookDeliveryTable> {
  readonly exchange: Pick<Selectable<WebhookBodyTable>, 'reqHeaders' | 'reqPayload' | 'respHeaders' | 'respBody'>
}

export async function insertDeliveries(tx: Tx, records: readonly DeliveryRecord[]): Promise<void> {
  await tx
    .insertInto('webhookDelivery')
    .values(records.map(({ exchange: _, ...delivery }) => delivery))
    .execute()
  await tx
    .insertInto('webhookBody')
    .values(records.map(({ orgId, id, createdAt, exchange }) => ({ orgId, deliveryId: id, createdAt, ...exchange })))
    .execute()
}
