import { type Counters, createCounters } from '../platform/metrics.ts'

const names = [
  /** Events that the router could not route. */
  'events_set_aside',
  /** Results of deliveries that the database refused. */
  'results_refused',
] as const

/** What the delivery of webhooks counts: everything that should not happen, or not often. */
export type WebhookCounters = Counters<(typeof names)[number]>

export function createWebhookCounters(): WebhookCounters {
  return createCounters(names)
}
