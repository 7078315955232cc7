import { type Selectable, sql } from 'kysely'
import type { InOrg, PlaceScope } from '../access/scope.ts'
import type { Page, Paged } from '../http/lists.ts'
import { type Sizes, largeOf } from '../http/store-bounds.ts'
import type { Counts } from '../http/search.ts'
import { countsOf, pageOf } from '../http/store-pages.ts'
import { type Db, containing } from '../platform/db.ts'
import type { WebhookDeliveryTable } from './tables.ts'
import type { DeliveryRecord } from './store-deliver.ts'
import { selectWebhooks } from './store.ts'

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

/** Selects deliveries of a webhook of the very place; records of a deleted webhook stay, and match nothing. */
function hitsOf(db: Db, scope: PlaceScope, filter: DeliveryFilter) {
  let hits = db
    .selectFrom('webhookDelivery as d')
    .where('d.orgId', '=', scope.orgId)
    .where('d.webhookId', '=', filter.webhookId)
    .where((eb) => eb.exists(selectWebhooks(db, scope).where('id', '=', filter.webhookId)))
    .where('d.createdAt', '>=', filter.start)
    .where('d.createdAt', '<=', filter.end)
  if (filter.status !== undefined) hits = hits.where('d.status', '=', filter.status)
  if (filter.statusCode !== undefined) hits = hits.where('d.statusCode', '=', filter.statusCode)
  if (filter.topic !== undefined) hits = hits.where('d.topic', '=', filter.topic)
  if (filter.error !== undefined) hits = hits.where('d.error', 'ilike', containing(filter.error))
  return hits
}

type Exchange = DeliveryRecord['exchange']

/** Lists attempts by time, with request and response as long as these are kept; empty texts replace expired ones. */
export async function searchDeliveries(
  db: Db,
  scope: PlaceScope,
  search: DeliverySearch,
): Promise<Paged<DeliveryRecord>> {
  const { rows, ...whole } = await pageOf<Selectable<WebhookDeliveryTable> & Exchange>(
    db,
    {
      hits: hitsOf(db, scope, search).selectAll('d'),
      order: ['created_at', 'id'],
      direction: search.direction,
      // A delivery and its body are in partitions of the same day.
      rows: sql`select page.*, coalesce(body.req_headers, '') as req_headers,
          coalesce(body.req_payload, '') as req_payload, body.resp_headers, body.resp_body
        from page left join lateral (
          select * from webhook_body b
          where b.org_id = ${scope.orgId} and b.created_at = page.created_at and b.delivery_id = page.id limit 1
        ) as body on true`,
      sizes: sizesOfExchanges(scope, search),
    },
    search,
  )
  return {
    rows: rows.map(({ reqHeaders, reqPayload, respHeaders, respBody, ...delivery }) =>
      Object.assign(delivery, { exchange: { reqHeaders, reqPayload, respHeaders, respBody } }),
    ),
    ...whole,
  }
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
  scope: PlaceScope,
  { distinct, limit, ...filter }: DeliveryFilter & { readonly distinct: DeliveryDistinct; readonly limit: number },
): Promise<Counts> {
  return countsOf(db, hitsOf(db, scope, filter).selectAll('d'), { field: sql.ref(distinct), limit })
}
