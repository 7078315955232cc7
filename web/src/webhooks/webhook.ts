import type { Schemas } from '../api/client.ts'
import { counted } from '../display/texts/counted.ts'
import type { Tone } from '../display/tone.ts'

export type Webhook = Schemas['Webhook']
export type Health = Schemas['WebhookHealth']
export type Delivery = Schemas['WebhookDelivery']
export type ParkedMessage = Schemas['WebhookParkedMessage']

/** The place of webhooks: an organization, or one of its sites. */
export interface WebhookPlace {
  readonly orgId: string
  readonly siteId?: string
}

interface HealthWords {
  readonly tone: Tone
  readonly text: string
}

const healthStates: Readonly<Record<Health['state'], HealthWords>> = {
  healthy: { tone: 'good', text: 'Healthy' },
  idle: { tone: 'warn', text: 'Gets no events' },
  overflowing: { tone: 'bad', text: 'Drops messages' },
  failing: { tone: 'bad', text: 'Failing' },
  paused: { tone: 'warn', text: 'Paused' },
  disabled: { tone: 'idle', text: 'Disabled' },
}

/**
 * Returns the health of a webhook in words. A pause after failures is no wish of anybody: the receiver is failing. A webhook that
 * the service has disabled needs somebody, other than one that an administrator has disabled.
 */
export function healthWordsOf({
  state,
  disabled_reason: why = 'request',
  breaker,
}: Pick<Health, 'state' | 'disabled_reason' | 'breaker'>): HealthWords {
  if (state === 'paused' && breaker.failures > 0) return healthStates.failing
  if (state === 'disabled' && why !== 'request') return { ...healthStates.disabled, tone: 'bad' }
  return healthStates[state]
}

/** Returns how many attempts there were within an hour, and how many of them succeeded. */
export function successText({ attempts, success_rate: rate }: Health['last_hour']): string {
  const count = attempts.toLocaleString('en')
  if (rate === undefined) return count
  if (rate === 0) return `${count}, none successful`
  if (rate === 1) return `${count}, all successful`
  // Rounded down, because 100 % would say that all of them succeeded.
  return `${count}, ${(Math.floor(1000 * rate) / 10).toFixed(1)} % successful`
}

/** Returns a field that not every type of webhook has; empty if it is absent or no text. */
export function textIn(webhook: Webhook, field: string): string {
  const value = webhook[field]
  return typeof value === 'string' ? value : ''
}

/** True if its receiver can't be called, and fetches the messages. */
export function isFetched({ type }: Pick<Webhook, 'type'>): boolean {
  return type === 'pull'
}

/** Returns the path at which the receiver of a webhook fetches its messages. */
export function messagesPath(webhook: Webhook): string {
  const place = webhook.for_site ? `/sites/${textIn(webhook, 'site_id')}` : `/orgs/${webhook.org_id}`
  return `/api/v1${place}/webhooks/${webhook.id}/messages`
}

/** Returns when deliveries of a webhook appear in a list that has none yet. */
export function noDeliveryText(webhook: Webhook): string {
  const text = isFetched(webhook)
    ? 'Messages appear here once its receiver has fetched and acknowledged them.'
    : 'A test message appears here within seconds; others when something happens.'
  return textIn(webhook, 'filter') === '' ? text : `${text} Events that its filter does not match are not sent.`
}

/** A webhook may have no name, and one whose receiver fetches its messages has no address. */
export function titleOf(webhook: Webhook): string {
  return textIn(webhook, 'name') || textIn(webhook, 'url') || webhook.id
}

/** Returns the result of a delivery: the status of the answer, if there was one. A receiver that fetches gives none. */
export function resultText({ status, status_code: code }: Pick<Delivery, 'status' | 'status_code'>): string {
  if (code !== undefined) return String(code)
  return status === 'success' ? 'Fetched' : 'No answer'
}

/** Returns how many messages a webhook gets at most; empty if it has no limit. */
export function rateLimitText(webhook: Webhook): string {
  const limit = webhook['rate_limit']
  if (typeof limit !== 'object' || limit === null || !('messages' in limit && 'per' in limit)) return ''
  return `${counted(Number(limit.messages), 'message')} per ${String(limit.per)}`
}

/** Returns the number of waiting messages, as far as it is known. */
export function pendingText({ pending, pending_exact: isExact }: Pick<Health, 'pending' | 'pending_exact'>): string {
  const count = pending.toLocaleString('en')
  return isExact ? count : `about ${count}`
}

/**
 * Returns the ids of the attempts that no later one of the same message follows: a message can be sent before its planned time.
 * @param attempts The newest first, of every result: failed ones alone do not show that a later one succeeded.
 */
export function latestAttempts(attempts: readonly Pick<Delivery, 'id' | 'message_id'>[]): ReadonlySet<string> {
  return new Set(new Map(attempts.toReversed().map(({ id, message_id: message = id }) => [message, id])).values())
}

/** The site in the address of a page of webhooks; absent for those of the organization. */
export interface SiteSearch {
  readonly site?: string
}

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseSiteSearch({ site }: Readonly<Record<string, unknown>>): SiteSearch {
  return typeof site === 'string' && site !== '' ? { site } : {}
}

/** The filter of the list of webhooks. */
export interface WebhookFilter {
  /** Only those that somebody has to look at. */
  readonly failing?: true
  /** A part of their names. */
  readonly name?: string
}

/** What the list of webhooks shows, as in the address of the page. */
export interface WebhooksSearch extends SiteSearch, WebhookFilter {}

export function parseWebhooksSearch(search: Readonly<Record<string, unknown>>): WebhooksSearch {
  const { name } = search
  // The router reads a text of digits as a number.
  const text = typeof name === 'number' ? String(name) : name
  return {
    ...parseSiteSearch(search),
    ...(search['failing'] === true && { failing: true }),
    ...(typeof text === 'string' && text !== '' && { name: text }),
  }
}

export function placeOf(orgId: string, { site }: SiteSearch): WebhookPlace {
  return { orgId, ...(site !== undefined && { siteId: site }) }
}

/** Under /api/v1. */
export function pathOf({ orgId, siteId }: WebhookPlace): string {
  return siteId === undefined ? `/orgs/${orgId}` : `/sites/${siteId}`
}
