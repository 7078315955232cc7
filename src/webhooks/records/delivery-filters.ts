import { choice, number, part, spelled } from '../../http/lists/filters.ts'
import { topicFault, topicNameOf } from '../topics.ts'

const ofAttempts = 'of the newest 100,000 attempts in the time range'
const ofFailures = 'of the newest 100,000 failures in the time range'

/** Source: contract, `searchOrgWebhooksDeliveries`. */
export const deliveryFilters = {
  error: part({ about: ofFailures, list: false }),
  status_code: number({ about: `${ofAttempts}, or failures if no code is 200 to 299` }),
  status: choice(['success', 'failure']),
  // As in replays: a topic of which nothing is found may only be misspelled.
  topic: spelled({ about: ofAttempts, spell: topicNameOf, faultOf: (topic) => topicFault(topic, 'site') }),
}

/** The request and the response, while they are stored: sorted by the first thousand characters. */
export const exchangeSorts = ['req_headers', 'req_payload', 'resp_headers', 'resp_body', 'remote_address'] as const

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
