import { type Counters, createCounters } from '../../platform/process/counters.ts'

const names = [
  /** Events that the router could not route. */
  'events_set_aside',
  /** Results of deliveries that the database refused. */
  'results_refused',
] as const

/** Counts the events of webhook delivery that should happen never or rarely. */
export type WebhookCounters = Counters<(typeof names)[number]>

export function createWebhookCounters(): WebhookCounters {
  return createCounters(names)
}
