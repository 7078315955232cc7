import { sql } from 'kysely'
import type { PlaceScope } from '../../access/scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import { columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import { addMs } from '../../platform/time/clock.ts'
import { deviceKeyOf } from '../routing/device-key.ts'
import type { DeliveredMessage } from './plan-delivered.ts'
import { type LaneKey, dueFromWith } from '../lanes/store.ts'
import { MS_PER_REPLAYED, type ReplayFilter, replayPace } from './store-parked.ts'
import { payloadBytes, payloadOf } from '../records/store-payloads.ts'
import { scheduledColumns, selectWebhooks } from '../store.ts'

/**
 * Lists messages of a webhook of exactly this place that were delivered and whose bodies are still stored, oldest
 * first; each message once for every delivery.
 */
export async function listDelivered(
  db: Db,
  scope: PlaceScope,
  { webhookId, filter, limit }: { readonly webhookId: string; readonly filter: ReplayFilter; readonly limit: number },
): Promise<DeliveredMessage[]> {
  const { ids, topic, start, end } = filter
  const { orgId } = scope
  const { rows } = await sql<DeliveredMessage>`
    select d.id as delivery_id, d.message_id, d.created_at as delivered_at, ${payloadBytes} as length
    from webhook_delivery d
      join webhook_body b on b.org_id = d.org_id and b.created_at = d.created_at and b.delivery_id = d.id
    where d.org_id = ${orgId} and d.webhook_id = ${webhookId} and d.status = 'success' and d.topic <> 'ping'
      and exists (${selectWebhooks(db, scope).where('id', '=', webhookId)})
      and (${ids}::uuid[] is null or d.message_id = any(${ids}::uuid[]))
      and (${topic}::text is null or d.topic = ${topic})
      and (${start}::timestamptz is null or d.created_at >= ${start})
      and (${end}::timestamptz is null or d.created_at <= ${end})
    order by d.created_at, d.id limit ${limit}
  `.execute(db)
  return rows
}

const deliveredColumns = columnsOf('webhookDelivery', {}, { deliveryId: 'uuid', deliveredAt: 'timestamptz' })

export interface Requeue {
  readonly delivered: readonly DeliveredMessage[]
  readonly at: Date
  /** When the first message is due. */
  readonly from: Date
  /** True if the messages of the lane have keys. */
  readonly byDevice: boolean
}

/**
 * Adds copies of delivered messages to their lane, with the same ids and bytes. The webhook must be locked. A message that
 * waits already is not added again.
 * @returns How many were added.
 */
export async function requeueDelivered(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
  { delivered, at, from, byDevice }: Requeue,
): Promise<number> {
  const { rows: found } = await sql<{
    id: string
    topic: string
    reqPayload: string
    payloadId: string
    payloadAt: Date
  }>`
    select d.message_id as id, d.topic, ${payloadOf} as req_payload,
      coalesce(b.payload_id, b.delivery_id) as payload_id, coalesce(b.payload_at, b.created_at) as payload_at
    from ${rowsAs('k', deliveredColumns, delivered, 'place')}
      join webhook_delivery d on d.org_id = ${orgId} and d.webhook_id = ${webhookId}
        and d.created_at = k.delivered_at and d.id = k.delivery_id
      join webhook_body b on b.org_id = d.org_id and b.created_at = d.created_at and b.delivery_id = d.id
    order by k.place
  `.execute(tx)
  const messages = found.map(({ id, topic, reqPayload, payloadId, payloadAt }, place) => {
    // The router made the body from its events.
    const { events } = JSON.parse(reqPayload) as { readonly events: readonly unknown[] }
    const body = Buffer.from(reqPayload)
    const orderKey = byDevice ? deviceKeyOf(events[0]) : null
    return {
      orgId,
      id,
      webhookId,
      topic,
      body,
      eventCount: events.length,
      orderKey,
      dueAt: addMs(from, Math.floor(place / replayPace.count) * replayPace.pauseMs),
      createdAt: at,
      payloadId,
      payloadAt,
    }
  })
  const tail = sql<{ id: string }>`on conflict do nothing returning id`
  const added = await insertRows(tx, scheduledColumns, messages, { tail })
  await sql`
    update webhook_lane l set pending = l.pending + ${added.length}, due_from = ${dueFromWith(sql`${from}::timestamptz`)},
      replays_until = ${addMs(from, added.length * MS_PER_REPLAYED)}
    where l.org_id = ${orgId} and l.webhook_id = ${webhookId}
  `.execute(tx)
  return added.length
}
