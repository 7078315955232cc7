import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { restoreHeaders } from '../requests/recorded-headers.ts'
import type { FoundDelivery } from './store.ts'

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
    message_id: Type.Optional(
      Type.String({ format: 'uuid', description: 'the `webhook-id` header, the same in each attempt' }),
    ),
    attempt: Type.Optional(Type.Integer({ description: 'counts from 1' })),
    final: Type.Optional(Type.Boolean({ description: 'whether no further attempt follows by itself' })),
    duration_ms: Type.Optional(Type.Integer({ description: 'until the answer, or until the attempt failed' })),
    next_attempt: Type.Optional(Type.Number({ description: 'when the message is sent again; missing: it is not' })),
    req_url: Type.String(),
    remote_address: Type.Optional(Type.String({ description: 'the address that was called, unless through a proxy' })),
    req_headers: Type.String({ description: 'a JSON object' }),
    req_payload: Type.String(),
    resp_headers: Type.Optional(Type.String({ description: 'a JSON object' })),
    resp_body: Type.Optional(Type.String()),
  }),
)

export function presentDelivery(record: FoundDelivery): Static<typeof DeliveryReply> {
  const { siteId, statusCode, error, final, durationMs, nextAttempt, exchange } = record
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
    message_id: record.messageId,
    attempt: record.attempt,
    ...(final !== null && { final }),
    ...(durationMs !== null && { duration_ms: durationMs }),
    ...(nextAttempt !== null && { next_attempt: epochS(nextAttempt) }),
    req_url: record.reqUrl,
    ...(exchange.remoteAddress !== null && { remote_address: exchange.remoteAddress }),
    req_headers: headersOf(record),
    req_payload: exchange.reqPayload,
    ...(exchange.respHeaders !== null && { resp_headers: exchange.respHeaders }),
    ...(exchange.respBody !== null && { resp_body: exchange.respBody }),
  }
}

function headersOf({ messageId, createdAt, exchange }: FoundDelivery): string {
  const { reqHeaders, headersReduced, signatures } = exchange
  if (headersReduced !== true) return reqHeaders
  return JSON.stringify(restoreHeaders({ others: JSON.parse(reqHeaders), signatures }, { messageId, createdAt }))
}
