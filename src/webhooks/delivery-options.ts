import type { Document } from '../platform/json/document.ts'
import { invalidField } from '../platform/errors.ts'
import { isObject } from '../platform/json/is-object.ts'
import { JsonPathError, parseJsonPath } from '../platform/json/parse-json-path.ts'
import type { RateLimit } from './lanes/decide-pace.ts'
import { keysOf } from '../platform/records.ts'

const DEFAULT_OVERLAP_S = 24 * 3600

/** The longest time for which a replaced secret may stay valid. */
export const MAX_OVERLAP_S = 30 * 24 * 3600

/** Returns how long a secret that is replaced now stays valid. */
export function secretOverlapMs(doc: Document): number {
  const seconds = doc['secret_overlap_s']
  return (typeof seconds === 'number' ? seconds : DEFAULT_OVERLAP_S) * 1000
}

/**
 * Validates the fields of a webhook that set how it is delivered.
 * @throws AppError invalid naming the field.
 */
export function assertOptions(doc: Document): void {
  const unused = isPulled(doc) ? notPulled.find((field) => (doc[field] ?? null) !== null) : undefined
  if (unused !== undefined)
    throw invalidField(unused, `does not apply to type ${PULL}, whose messages are fetched: "-${unused}": "" unsets it`)
  const { secret_overlap_s: overlap } = doc
  const isSeconds = typeof overlap === 'number' && Number.isInteger(overlap) && overlap >= 0 && overlap <= MAX_OVERLAP_S
  if (overlap !== undefined && !isSeconds)
    throw invalidField('secret_overlap_s', `must be an integer from 0 to ${MAX_OVERLAP_S}`)
  if ((doc['rate_limit'] ?? null) !== null && rateLimitOf(doc) === null)
    throw invalidField('rate_limit', `must have messages (1 to ${MAX_RATE}) and per (${ratePeriods.join(' or ')})`)
  assertFilter(doc['filter'])
  if ((doc['order'] ?? null) !== null && orderOf(doc) === null)
    throw invalidField('order', `must be ${deliveryOrders.join(' or ')}`)
}

export const MAX_FILTER_LENGTH = 500

function assertFilter(filter: unknown): void {
  if (filter === undefined || filter === null) return
  if (typeof filter !== 'string' || filter.length > MAX_FILTER_LENGTH)
    throw invalidField('filter', `must be a text of at most ${MAX_FILTER_LENGTH} characters`)
  try {
    parseJsonPath(filter)
  } catch (error) {
    if (error instanceof JsonPathError) throw invalidField('filter', error.message)
    throw error
  }
}

/** The most messages that a limit may allow in its period; more would be no limit. */
export const MAX_RATE = 10_000

const periods = { second: 1000, minute: 60_000 } as const

export const ratePeriods = keysOf(periods)

/**
 * Returns the number of messages that the webhook may get, and the period; null for no limit, and for an invalid one.
 */
export function rateLimitOf({ rate_limit: limit }: Document): RateLimit | null {
  const { messages, per } = isObject(limit) ? limit : {}
  const period = ratePeriods.find((known) => known === per)
  const isCount = typeof messages === 'number' && Number.isInteger(messages) && messages >= 1 && messages <= MAX_RATE
  return isCount && period !== undefined ? { messages, periodMs: periods[period] } : null
}

/** The messages that a webhook gets in sequence: all, or those of each device. */
export const deliveryOrders = ['webhook', 'device'] as const

export type DeliveryOrder = (typeof deliveryOrders)[number]

/** Returns the order of messages; null for none, and for an invalid one. */
export function orderOf({ order }: Document): DeliveryOrder | null {
  return deliveryOrders.find((known) => known === order) ?? null
}

/** The type of webhooks whose receivers fetch their messages. */
export const PULL = 'pull'

export function isPulled({ type }: Document): boolean {
  return type === PULL
}

/** Fields that only concern sending. */
const notPulled = ['url', 'headers', 'client_cert', 'client_key', 'rate_limit', 'order']
