import { type Static, Type } from 'typebox'
import { pageQuery, parsePage } from '../http/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { parseSort, parseTimeRange, searchQuery } from '../http/search.ts'
import { epochS } from '../platform/clock.ts'
import type { DeliveryRecord } from './store-deliver.ts'
import type { DeliveryDistinct, DeliveryFilter, DeliverySearch } from './store-deliveries.ts'

const filterQuery = {
  ...searchQuery,
  error: Type.Optional(Type.String()),
  status_code: Type.Optional(Type.Integer({ minimum: 0, maximum: 999 })),
  status: Type.Optional(Type.Enum(['success', 'failure'])),
  topic: Type.Optional(Type.String()),
}

export const DeliverySearchQuery = Type.Object({
  ...filterQuery,
  ...pageQuery,
  sort: Type.Optional(Type.Enum(['timestamp', '-timestamp'], { default: '-timestamp' })),
})

export const DeliveryCountQuery = Type.Object({
  ...filterQuery,
  limit: pageQuery.limit,
  distinct: Type.Optional(Type.Enum(['status', 'status_code', 'topic', 'webhook_id'], { default: 'status' })),
})

export const DeliveryReply = named(
  'WebhookDelivery',
  Type.Object({
    id: Uuid,
    webhook_id: Uuid,
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    topic: Type.String(),
    timestamp: Timestamp,
    status: Type.Enum(['success', 'failure']),
    status_code: Type.Optional(Type.Integer()),
    error: Type.Optional(Type.String()),
    req_url: Type.String(),
    req_headers: Type.String({ description: 'a JSON object' }),
    req_payload: Type.String(),
    resp_headers: Type.Optional(Type.String({ description: 'a JSON object' })),
    resp_body: Type.Optional(Type.String()),
  }),
)

type Filter = Omit<DeliveryFilter, 'webhookId'>

function parseFilter(query: Omit<Static<typeof DeliveryCountQuery>, 'distinct' | 'limit'>, now: Date): Filter {
  const { error, status_code: statusCode, status, topic } = query
  return {
    ...parseTimeRange(query, now),
    ...(error !== undefined && { error }),
    ...(status !== undefined && { status }),
    ...(topic !== undefined && { topic }),
    // Clients send 0 for a filter that is not set.
    ...(statusCode !== undefined && statusCode !== 0 && { statusCode }),
  }
}

export function parseDeliverySearch(
  query: Static<typeof DeliverySearchQuery>,
  now: Date,
): Omit<DeliverySearch, 'webhookId'> {
  const { direction } = parseSort(query.sort ?? '-timestamp')
  return { ...parseFilter(query, now), ...parsePage(query), direction }
}

export function parseDeliveryCount(
  query: Static<typeof DeliveryCountQuery>,
  now: Date,
): Filter & { readonly distinct: DeliveryDistinct; readonly limit: number } {
  return { ...parseFilter(query, now), limit: parsePage(query).limit, distinct: query.distinct ?? 'status' }
}

export function presentDelivery(record: DeliveryRecord): Static<typeof DeliveryReply> {
  const { siteId, statusCode, error, exchange } = record
  return {
    id: record.id,
    webhook_id: record.webhookId,
    org_id: record.orgId,
    ...(siteId !== null && { site_id: siteId }),
    topic: record.topic,
    timestamp: epochS(record.createdAt),
    status: record.status,
    ...(statusCode !== null && { status_code: statusCode }),
    ...(error !== null && { error }),
    req_url: record.reqUrl,
    req_headers: exchange.reqHeaders,
    req_payload: exchange.reqPayload,
    ...(exchange.respHeaders !== null && { resp_headers: exchange.respHeaders }),
    ...(exchange.respBody !== null && { resp_body: exchange.respBody }),
  }
}
