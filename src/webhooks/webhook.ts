import type { Document } from '../platform/json/document.ts'
import { mergeDocument, omitFields } from '../http/bodies/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { omitSecrets } from '../orgs/secrets/secrets.ts'
import { invalidField } from '../platform/errors.ts'
import type { Secrets } from '../platform/secrets.ts'
import { assertClientIdentity, parseClientIdentity } from './requests/client-certificate.ts'
import { headerFault } from './requests/headers.ts'
import type { WebhookRow } from './store.ts'
import { assertOptions, isPulled } from './delivery-options.ts'
import { secretFault } from './signing/sign.ts'
import type { SigningKey } from './signing/signing-keys.ts'
import { topicFault } from './topics.ts'
import { hiddenSecrets, receiverTypeOf, typeSecrets } from './types/index.ts'
import { parseAddress } from './types/receiver-type.ts'
import { type RetiredSecret, openWebhookSecrets } from './secrets/webhook-secrets.ts'
import { withoutQueries } from './requests/without-query.ts'

/** The fields of a webhook that a client sets, in their stored parts. */
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
  /** The newest first. */
  readonly retired: readonly RetiredSecret[]
  /** The current one first. */
  readonly signingKeys: readonly SigningKey[]
  readonly createdAt: Date
  readonly modifiedAt: Date
}

/** Fields that are stored encrypted and shown only to callers who may change them, or to nobody. */
const secretFields = ['secret', 'client_key', ...typeSecrets]

/** Secrets that no answer shows. */
export const hiddenFields: readonly string[] = ['client_key', ...hiddenSecrets]

/** A webhook that a client's body results in. */
export interface MergedWebhook extends WebhookContent {
  /** The addresses that deliveries call, by the fields that name them; none if nothing is sent. */
  readonly urls: Readonly<Record<string, URL>>
}

/**
 * Merges a client's body into the stored webhook (null on creation) and validates the result. The caller
 * must check whether the addresses may be called.
 *
 * @throws AppError invalid naming the field.
 */
export function mergeWebhook(before: WebhookContent | null, body: Document, siteId: string | null): MergedWebhook {
  const stored: Document =
    before === null ? {} : { ...before.doc, ...before.secrets, enabled: before.enabled, topics: before.topics }
  const merged = omitFields(mergeDocument(stored, body), readOnlyOf('Webhook'))
  const { enabled = true, topics = [], type, headers, url } = merged
  if (typeof enabled !== 'boolean') throw invalidField('enabled', 'must be a boolean')
  checkHeaders(headers)
  // A stored one remains, because its receiver may take the whole text for the key.
  if (merged['secret'] !== stored['secret']) checkSecret(merged['secret'])
  assertOptions(merged)
  const identity = parseClientIdentity(merged)
  const isNew = ['client_cert', 'client_key'].some((name) => merged[name] !== stored[name])
  if (identity !== null && isNew) assertClientIdentity(identity)
  const secrets = Object.fromEntries(secretFields.flatMap((name) => (name in merged ? [[name, merged[name]]] : [])))
  return {
    enabled,
    topics: checkTopics(topics, siteId),
    urls: {
      ...(!isPulled(merged) && { url: parseAddress('url', url) }),
      ...receiverTypeOf(type).check(merged, stored),
    },
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

function checkSecret(secret: unknown): void {
  const fault = typeof secret === 'string' ? secretFault(secret) : null
  if (fault !== null) throw invalidField('secret', fault)
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

/** Returns the stored webhook with decrypted secrets. */
export function webhookOf(secrets: Secrets, row: WebhookRow): Webhook {
  const { fields, ...others } = openWebhookSecrets(secrets, row.id, row.secrets)
  const { topics: asSent, ...doc } = row.doc
  return { ...row, ...others, doc, topics: Array.isArray(asSent) ? asSent.map(String) : row.topics, secrets: fields }
}

/** Returns a webhook for the audit log, which shows that secrets are set but not their values, and no query of an address. */
export function auditDocument(id: string, { doc, enabled, topics, secrets }: WebhookContent): Record<string, unknown> {
  const set = Object.fromEntries(
    Object.entries(secrets ?? {}).map(([name, value]) => [name, value === null || value === '' ? value : '***']),
  )
  return {
    ...omitSecrets(omitFields(doc, ['headers'])),
    ...withoutQueries(doc),
    ...set,
    enabled,
    topics,
    webhook_id: id,
  }
}
