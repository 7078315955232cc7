import { choice, number, part, text } from '../http/filters.ts'

/** Source: contract, `searchOrgWebhooksDeliveries`. */
export const deliveryFilters = {
  error: part({ list: false }),
  status_code: number(),
  status: choice(['success', 'failure']),
  topic: text(),
}

/** The request and the response, while they are stored: sorted by the first thousand characters. */
export const exchangeSorts = ['req_headers', 'req_payload', 'resp_headers', 'resp_body'] as const

export const deliverySorts = [
  'timestamp',
  'id',
  'webhook_id',
  'org_id',
  'site_id',
  'topic',
  'status',
  'status_code',
  'error',
  'req_url',
  'message_id',
  'attempt',
  'final',
  'duration_ms',
  'next_attempt',
  ...exchangeSorts,
] as const

export const deliveryCounts = ['status', 'status_code', 'topic', 'webhook_id'] as const
