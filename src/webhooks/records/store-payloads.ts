import { sql } from 'kysely'

/** The payload of a row `b` of webhook_body: its own, or that in the record to which it refers. */
export const payloadOf = sql<string>`coalesce(b.req_payload, (
  select first.req_payload from webhook_body first
  where first.org_id = b.org_id and first.created_at = b.payload_at and first.delivery_id = b.payload_id limit 1))`

/** The length of that payload, in the form of the index of large deliveries; see migration 230. */
export const payloadBytes = sql<number>`coalesce(octet_length(b.req_payload), b.payload_bytes, 0)`
