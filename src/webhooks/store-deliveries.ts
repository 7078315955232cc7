import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../access/scope.ts'
import type { Page, Paged } from '../http/lists.ts'
import { type Sizes, largeOf } from '../http/store-bounds.ts'
import type { Counts } from '../http/search.ts'
import { countsOf, pageOf } from '../http/store-pages.ts'
import { type Db, containing } from '../platform/db.ts'
import type { WebhookDeliveryTable } from './tables.ts'
import type { DeliveryRecord } from './store-deliver.ts'

export interface DeliveryFilter {
  readonly webhookId: string
  readonly start: Date
  readonly end: Date
  readonly status?: 'success' | 'failure'
  readonly statusCode?: number
  readonly topic?: string
  /** A part of the error text, in upper or lower case. */
  readonly error?: string
}

export interface DeliverySearch extends DeliveryFilter, Page {
  readonly direction: 'asc' | 'desc'
}

function hitsOf(db: Db, scope: InOrg, filter: DeliveryFilter) {
  let hits = db
    .selectFrom('webhookDelivery as d')
    .where('d.orgId', '=', scope.orgId)
    .where('d.webhookId', '=', filter.webhookId)
    .where('d.createdAt', '>=', filter.start)
    .where('d.createdAt', '<=', filter.end)
  if (filter.status !== undefined) hits = hits.where('d.status', '=', filter.status)
  if (filter.statusCode !== undefined) hits = hits.where('d.statusCode', '=', filter.statusCode)
  if (filter.topic !== undefined) hits = hits.where('d.topic', '=', filter.topic)
  if (filter.error !== undefined) hits = hits.where('d.error', 'ilike', containing(filter.error))
  return hits
}

/** Stands for the request and response of deliveries whose bodies have expired. */
const noExchange = { reqHeaders: '', reqPayload: '', respHeaders: null, respBody: null }

/** Lists attempts by time, with request and response as long as these are kept. */
export async function searchDeliveries(db: Db, scope: InOrg, search: DeliverySearch): Promise<Paged<DeliveryRecord>> {
  const way = search.direction === 'asc' ? sql`asc` : sql`desc`
  const { rows: page, ...whole } = await pageOf<Selectable<WebhookDeliveryTable>>(
    db,
    hitsOf(db, scope, search).selectAll('d'),
    search,
    { order: sql`hit.created_at ${way}, hit.id ${way}`, sizes: sizesOfExchanges(scope, search) },
  )
  const keys = page.map(({ id, createdAt }) => ({ id, createdAt }))
  const { rows: bodies } = await sql<DeliveryRecord['exchange'] & { deliveryId: string }>`
    select b.delivery_id, b.req_headers, b.req_payload, b.resp_headers, b.resp_body
    from webhook_body b
      join unnest(${keys.map(({ id }) => id)}::uuid[], ${keys.map(({ createdAt }) => createdAt)}::timestamptz[])
        as k (id, created_at) on k.created_at = b.created_at and k.id = b.delivery_id
    where b.org_id = ${scope.orgId}
  `.execute(db)
  const exchanges = new Map(bodies.map(({ deliveryId, ...exchange }) => [deliveryId, exchange]))
  const rows = page.map((delivery) => Object.assign(delivery, { exchange: exchanges.get(delivery.id) ?? noExchange }))
  return { rows, ...whole }
}

/** Deliveries whose texts are at most this long are not in the index of large deliveries. */
const SMALL_EXCHANGE_BYTES = 3072

/** Covers all deliveries of the organization in that time, because the index does not support the other filters. */
function sizesOfExchanges({ orgId }: InOrg, { start, end }: DeliveryFilter): Sizes {
  const bytes = sql`octet_length(b.req_headers) + octet_length(b.req_payload)
    + coalesce(octet_length(b.resp_headers), 0) + coalesce(octet_length(b.resp_body), 0)`
  const where = sql`b.org_id = ${orgId} and b.created_at >= ${start} and b.created_at <= ${end}`
  return largeOf(sql`webhook_body b`, bytes, { smallBytes: SMALL_EXCHANGE_BYTES, where })
}

export type DeliveryDistinct = 'status' | 'status_code' | 'topic' | 'webhook_id'

/** Counts the attempts for each distinct value. */
export function countDeliveries(
  db: Db,
  scope: InOrg,
  { distinct, limit, ...filter }: DeliveryFilter & { readonly distinct: DeliveryDistinct; readonly limit: number },
): Promise<Counts> {
  return countsOf(db, hitsOf(db, scope, filter).selectAll('d'), { field: sql.ref(distinct), limit })
}
