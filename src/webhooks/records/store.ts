import { type SelectQueryBuilder, type Selectable, sql } from 'kysely'
import type { InOrg, PlaceScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { type Sizes, largeOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Db } from '../../platform/database/db.ts'
import { isSuccess } from '../delivery/decide-retry.ts'
import { exchangeSorts } from './delivery-filters.ts'
import type { deliveryCounts, deliveryFilters, deliverySorts } from './delivery-filters.ts'
import type { WebhookDeliveryTable } from '../tables.ts'
import type { DeliveryRecord } from '../delivery/store.ts'
import { payloadBytes, payloadOf } from './store-payloads.ts'
import { selectWebhooks } from '../store.ts'
import { recordOf } from '../../platform/records.ts'

/** The deliveries of a webhook in a time range that satisfy all conditions. */
export interface DeliveryFilter extends TimeRange {
  readonly webhookId: string
  readonly conditions: Conditions<typeof deliveryFilters>
}

export interface DeliverySearch extends DeliveryFilter, Page {
  readonly sort: Sort<(typeof deliverySorts)[number]>
}

type ExchangeSort = (typeof exchangeSorts)[number]

/** Bodies may be long and many, so only their beginnings are compared. A delivery and its body are of one instant. */
function beginningOf(text: ExchangeSort): Column {
  const whole = text === 'req_payload' ? payloadOf : sql.ref(`b.${text}`)
  return column(sql`(select left(${whole}, 1000) from webhook_body b
    where b.org_id = d.org_id and b.created_at = d.created_at and b.delivery_id = d.id limit 1)`)
}

const exchange = recordOf(exchangeSorts, beginningOf)

const columns = {
  ...exchange,
  id: column(sql`d.id`),
  timestamp: column(sql`d.created_at`),
  webhook_id: column(sql`d.webhook_id`),
  org_id: column(sql`d.org_id`),
  site_id: column(sql`d.site_id`),
  topic: column(sql`d.topic`),
  // Literals, because PostgreSQL would otherwise not know that its index of failures applies.
  status: {
    value: sql`d.status`,
    isAnyOf: (values) => sql`d.status in (${sql.join(values.map((value) => sql.lit(value)))})`,
  },
  status_code: column(sql`d.status_code`),
  error: column(sql`d.error`),
  req_url: column(sql`d.req_url`),
  message_id: column(sql`d.message_id`),
  attempt: column(sql`d.attempt`),
  final: column(sql`d.final`),
  duration_ms: column(sql`d.duration_ms`),
  next_attempt: column(sql`d.next_attempt`),
} satisfies Columns<typeof deliveryFilters> & Record<(typeof deliverySorts)[number] | DeliveryDistinct, Column>

/**
 * Selects deliveries of a webhook of exactly this place; records of a deleted webhook stay, and match nothing. Filters by
 * anything but the status consider the newest attempts only: to find a rare value, all others would be read.
 */
function hitsOf(db: Db, scope: PlaceScope, { webhookId, start, end, conditions }: DeliveryFilter) {
  const { status, ...others } = conditions
  const byStatus = conditionsOn<Pick<typeof deliveryFilters, 'status'>>(columns, status === undefined ? {} : { status })
  const attempts = db
    .selectFrom('webhookDelivery as d')
    .selectAll('d')
    .where('d.orgId', '=', scope.orgId)
    .where('d.webhookId', '=', webhookId)
    .where((eb) => eb.exists(selectWebhooks(db, scope).where('id', '=', webhookId)))
    .where('d.createdAt', '>=', start)
    .where('d.createdAt', '<=', end)
    .where(allHold([...byStatus, ...(excludesSuccess(conditions) ? [sql`d.status = 'failure'`] : [])]))
  const examined = Object.keys(others).length === 0 ? attempts : newest(attempts)
  return db
    .selectFrom(examined.as('d'))
    .where(allHold(conditionsOn<Omit<typeof deliveryFilters, 'status'>>(columns, others)))
}

/** True if only failures can satisfy the conditions. PostgreSQL then reads its index of failures. */
function excludesSuccess({ error, status_code: codes }: DeliveryFilter['conditions']): boolean {
  if (error !== undefined) return true
  return codes !== undefined && 'values' in codes && !codes.values.some((code) => isSuccess(Number(code)))
}

function newest<T, From extends keyof T, Row>(attempts: SelectQueryBuilder<T, From, Row>) {
  return attempts
    .orderBy(sql`d.created_at`, 'desc')
    .orderBy(sql`d.id`, 'desc')
    .limit(MAX_COUNTED)
}

/** The request and the answer; empty texts for what is not stored any more. */
interface Exchange extends Pick<
  DeliveryRecord['exchange'],
  'reqHeaders' | 'headersReduced' | 'signatures' | 'respHeaders' | 'respBody' | 'remoteAddress'
> {
  readonly reqPayload: string
}

export interface FoundDelivery extends Selectable<WebhookDeliveryTable> {
  readonly exchange: Exchange
}

/**
 * The number of attempts that are counted, compared with filters, or sorted by another field than the time: a busy webhook
 * makes millions a day, and reading them all would slow down the database for everyone.
 */
const MAX_COUNTED = 100_000

/** Lists attempts by time, with request and response while these are stored; empty texts replace expired ones. */
export async function searchDeliveries(
  db: Db,
  scope: PlaceScope,
  search: DeliverySearch,
): Promise<Paged<FoundDelivery>> {
  const { by, direction } = search.sort
  // Not the whole rows: PostgreSQL then finds most hits in an index alone.
  const all = hitsOf(db, scope, search).select(['d.createdAt', 'd.id']).select(columns[by].value.as('sorted'))
  const { rows, ...whole } = await pageOf<Selectable<WebhookDeliveryTable> & Exchange>(
    db,
    {
      hits: by === 'timestamp' ? all : newest(all),
      maxTotal: MAX_COUNTED,
      order: by === 'timestamp' ? ['created_at', 'id'] : ['sorted', 'id'],
      direction,
      // A delivery and its body are in partitions of the same day.
      rows: sql`select page.sorted, delivery.*, coalesce(body.req_headers, '') as req_headers, body.headers_reduced, body.signatures,
          coalesce(body.req_payload, '') as req_payload, body.resp_headers, body.resp_body, body.remote_address
        from page cross join lateral (
          select * from webhook_delivery d
          where d.org_id = ${scope.orgId} and d.webhook_id = ${search.webhookId}
            and d.created_at = page.created_at and d.id = page.id limit 1
        ) as delivery
        left join lateral (
          select b.req_headers, b.headers_reduced, b.signatures, ${payloadOf} as req_payload, b.resp_headers, b.resp_body, b.remote_address
          from webhook_body b
          where b.org_id = ${scope.orgId} and b.created_at = page.created_at and b.delivery_id = page.id limit 1
        ) as body on true`,
      sizes: sizesOfExchanges(scope, search),
    },
    search,
  )
  return {
    rows: rows.map(
      ({ reqHeaders, headersReduced, signatures, reqPayload, respHeaders, respBody, remoteAddress, ...delivery }) =>
        Object.assign(delivery, {
          exchange: { reqHeaders, headersReduced, signatures, reqPayload, respHeaders, respBody, remoteAddress },
        }),
    ),
    ...whole,
  }
}

/** Deliveries whose texts are at most this long are not in the index of large deliveries. */
const SMALL_EXCHANGE_BYTES = 3072

/** Covers all deliveries of the organization in that time, because the index does not support the other filters. */
function sizesOfExchanges({ orgId }: InOrg, { start, end }: DeliveryFilter): Sizes {
  const bytes = sql`octet_length(b.req_headers) + ${payloadBytes}
    + coalesce(octet_length(b.resp_headers), 0) + coalesce(octet_length(b.resp_body), 0)`
  const where = sql`b.org_id = ${orgId} and b.created_at >= ${start} and b.created_at <= ${end}`
  return largeOf(sql`webhook_body b`, bytes, { smallBytes: SMALL_EXCHANGE_BYTES, where })
}

export type DeliveryDistinct = (typeof deliveryCounts)[number]

/** Counts the newest attempts for each distinct value. */
export function countDeliveries(
  db: Db,
  scope: PlaceScope,
  { distinct, limit, page, ...filter }: DeliveryFilter & Page & { readonly distinct: DeliveryDistinct },
): Promise<Counts> {
  const hits = newest(hitsOf(db, scope, filter).select(columns[distinct].value.as('value')))
  return countsOf(db, hits, { field: sql`hit.value`, limit, page })
}
