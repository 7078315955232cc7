import type { Document } from '../platform/document.ts'
import { mergeDocument, omitFields } from '../http/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { invalidField } from '../platform/errors.ts'
import type { Secrets } from '../platform/secrets.ts'
import { headerFault } from './headers.ts'
import type { WebhookRow } from './store.ts'
import { topicFault } from './topics.ts'
import { receiverTypeOf, typeSecrets } from './types/index.ts'
import { parseAddress } from './types/receiver-type.ts'

/** The fields of a webhook that a client sets, divided as they are stored. */
export interface WebhookContent {
  readonly enabled: boolean
  readonly topics: readonly string[]
  /** All other fields of the wire shape. */
  readonly doc: Record<string, unknown>
  /** The secret fields of the wire shape; null when none is set. */
  readonly secrets: Document | null
}

export interface Webhook extends WebhookContent {
  readonly orgId: string
  readonly id: string
  /** Null for an organization's webhook. */
  readonly siteId: string | null
  readonly retired: RetiredSecret | null
  readonly createdAt: Date
  readonly modifiedAt: Date
}

/** A replaced signing secret that stays valid for receivers that do not have the new one yet. */
export interface RetiredSecret {
  readonly secret: string
  readonly untilMs: number
}

/** Fields that are stored encrypted and shown only to those who may change them, or to nobody. */
const secretFields = ['secret', ...typeSecrets]

/** A webhook that a client's body results in. */
export interface MergedWebhook extends WebhookContent {
  /** The addresses that deliveries call, by the fields that name them. */
  readonly urls: Readonly<Record<string, URL>>
}

/**
 * Merges a client's body into the stored webhook (null on creation) and validates the result. The caller
 * must check whether the addresses may be called.
 *
 * @throws AppError invalid naming the field.
 */
export function mergeWebhook(before: WebhookContent | null, body: Document, siteId: string | null): MergedWebhook {
  const stored =
    before === null ? {} : { ...before.doc, ...before.secrets, enabled: before.enabled, topics: before.topics }
  const merged = omitFields(mergeDocument(stored, body), readOnlyOf('Webhook'))
  const { enabled = true, topics = [], type, headers, url } = merged
  if (typeof enabled !== 'boolean') throw invalidField('enabled', 'must be a boolean')
  checkHeaders(headers)
  const secrets = Object.fromEntries(secretFields.flatMap((name) => (name in merged ? [[name, merged[name]]] : [])))
  return {
    enabled,
    topics: checkTopics(topics, siteId),
    urls: { url: parseAddress('url', url), ...receiverTypeOf(type).check(merged) },
    doc: omitFields(merged, ['enabled', 'topics', ...secretFields]),
    secrets: Object.keys(secrets).length === 0 ? null : secrets,
  }
}

function checkTopics(topics: unknown, siteId: string | null): string[] {
  if (!Array.isArray(topics)) throw invalidField('topics', 'must be a list')
  return topics.map(String).map((topic) => {
    const fault = topicFault(topic, siteId === null ? 'org' : 'site')
    if (fault !== null) throw invalidField('topics', fault)
    return topic
  })
}

function checkHeaders(headers: unknown): void {
  const fault = headerFault(customHeaders({ headers }))
  if (fault !== null) throw invalidField('headers', fault)
}

/** Returns the custom headers; empty when they were never set or set to null. */
export function customHeaders(doc: Document): Record<string, string> {
  const { headers } = doc
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

export function webhookName(doc: Document): string {
  return typeof doc['name'] === 'string' ? doc['name'] : ''
}

/** The parts of a webhook that are stored encrypted. */
export interface WebhookSecrets {
  /** The secret fields of the wire shape; null when none is set. */
  readonly fields: Document | null
  readonly retired: RetiredSecret | null
}

const RETIRED_FOR_MS = 24 * 3600e3

/** Returns the secret that stays valid beside the new one after the change from `before` to `after`. */
export function retireSecret(before: Webhook, after: WebhookContent, now: Date): RetiredSecret | null {
  const [old, next] = [secretOf(before.secrets), secretOf(after.secrets)]
  if (next === null) return null
  if (old !== null && old !== next) return { secret: old, untilMs: now.getTime() + RETIRED_FOR_MS }
  const { retired } = before
  return retired !== null && retired.untilMs > now.getTime() ? retired : null
}

/** Returns the signing secret; null when it is missing or empty. */
export function secretOf(fields: Document | null): string | null {
  const secret = fields?.['secret']
  return typeof secret === 'string' && secret !== '' ? secret : null
}

/** Encrypts the secrets for the webhook with this id, so that they can't be moved to another row. */
export function sealWebhookSecrets(secrets: Secrets, id: string, plain: WebhookSecrets): Buffer | null {
  return plain.fields === null ? null : secrets.seal(JSON.stringify(plain), id)
}

/** @throws Error when the bytes were not sealed for this webhook by this installation. */
export function openWebhookSecrets(secrets: Secrets, id: string, sealed: Buffer | null): WebhookSecrets {
  if (sealed === null) return { fields: null, retired: null }
  // The encryption authenticates the text: only sealWebhookSecrets can have written it.
  return JSON.parse(secrets.open(sealed, id)) as WebhookSecrets
}

/** Returns the stored webhook with decrypted secrets. */
export function webhookOf(secrets: Secrets, row: WebhookRow): Webhook {
  const { fields, retired } = openWebhookSecrets(secrets, row.id, row.secrets)
  const { topics: asSent, ...doc } = row.doc
  return { ...row, retired, doc, topics: Array.isArray(asSent) ? asSent.map(String) : row.topics, secrets: fields }
}

/** Returns a webhook for the audit log, which shows that secrets are set but not their values. */
export function auditDocument({ doc, enabled, topics, secrets }: WebhookContent): Record<string, unknown> {
  const set = Object.fromEntries(Object.keys(secrets ?? {}).map((name) => [name, '***']))
  return { ...omitFields(doc, ['headers']), ...set, enabled, topics }
}
