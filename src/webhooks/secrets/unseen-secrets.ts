import { omitFields } from '../../http/bodies/documents.ts'
import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import type { MergedWebhook, WebhookContent } from '../webhook.ts'
import { withoutQueries } from '../requests/without-query.ts'

/** A change by a caller who does not see the secrets of the webhook. */
export interface BlindChange {
  readonly before: MergedWebhook
  readonly body: Document
  readonly after: MergedWebhook
}

/** Leaves out addresses that are sent back in their redacted form, so that the stored queries remain. */
export function keepUnseenQueries(before: WebhookContent, body: Document): Document {
  const redacted = withoutQueries(before.doc)
  return omitFields(
    body,
    Object.keys(redacted).filter((name) => body[name] === redacted[name]),
  )
}

/**
 * Prevents a caller who does not see the secrets of a webhook from having them sent to another server: a change of the
 * destination, or of the check of the receiver's identity, requires each secret again, or null.
 * @throws AppError invalid, which names the secret.
 */
export function assertSecretsGiven({ before, body, after }: BlindChange): void {
  const cause = causeOf(before, after)
  if (cause === null) return
  const { headers } = before.doc
  const secrets = { ...before.secrets, ...(isSet(headers) && { headers }) }
  for (const name of Object.keys(secrets)) {
    if (!(name in body) && !(`-${name}` in body))
      throw invalidField(
        name,
        `must be given again, or set to null, with another ${cause}: you do not see the stored value`,
      )
  }
  // The query goes wherever the address goes.
  if (cause !== 'verify_cert') return
  for (const [name, redacted] of Object.entries(withoutQueries(before.doc))) {
    const isKept = before.doc[name] === after.doc[name] && !(name in body)
    if (isKept && before.doc[name] !== redacted)
      throw invalidField(name, 'must be given again with another verify_cert: you do not see its query')
  }
}

function causeOf(before: MergedWebhook, after: MergedWebhook): string | null {
  for (const [name, url] of Object.entries(after.urls)) if (before.urls[name]?.origin !== url.origin) return name
  if (before.doc['verify_cert'] !== false && after.doc['verify_cert'] === false) return 'verify_cert'
  return (before.doc['type'] ?? 'http-post') === (after.doc['type'] ?? 'http-post') ? null : 'type'
}

function isSet(headers: unknown): boolean {
  return typeof headers === 'object' && headers !== null && Object.keys(headers).length > 0
}
