import { sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import type { Paged } from '../http/lists.ts'
import type { ValueCount } from '../http/search.ts'
import { countsOf } from '../http/store-pages.ts'
import { type Db, containing } from '../platform/db.ts'
import type { DeliveryRecord } from './store-deliver.ts'

export interface DeliveryFilter {
  readonly webhookId: string
  readonly start: Date
  readonly end: Date
  readonly status?: 'success' | 'failure'
  readonly statusCode?: number
  readonly topic?: string
  /** Part of the error, any case. */
  readonly error?: string
}

export interface DeliverySearch extends DeliveryFilter {
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly offset: number
}

function hitsOf(db: Db, scope: OrgScope, filter: DeliveryFilter) {
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

/** What was sent and answered, of deliveries whose bodies have been dropped already. */
const noExchange = { reqHeaders: '', reqPayload: '', respHeaders: null, respBody: null }

/** Attempts by time, with what was sent and answered as long as that is kept. */
export async function searchDeliveries(
  db: Db,
  scope: OrgScope,
  search: DeliverySearch,
): Promise<Paged<DeliveryRecord>> {
  const hits = hitsOf(db, scope, search)
  const { total } = await hits.select(sql<string>`count(*)`.as('total')).executeTakeFirstOrThrow()
  const page = await hits
    .selectAll('d')
    .orderBy('d.createdAt', search.direction)
    .orderBy('d.id', search.direction)
    .limit(search.limit)
    .offset(search.offset)
    .execute()
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
  return { rows, total: Number(total) }
}

export type DeliveryDistinct = 'status' | 'status_code' | 'topic' | 'webhook_id'

/** How many attempts there are for each value. */
export function countDeliveries(
  db: Db,
  scope: OrgScope,
  { distinct, limit, ...filter }: DeliveryFilter & { readonly distinct: DeliveryDistinct; readonly limit: number },
): Promise<Paged<ValueCount>> {
  return countsOf(db, hitsOf(db, scope, filter).selectAll('d'), { field: sql.ref(distinct), limit })
}
