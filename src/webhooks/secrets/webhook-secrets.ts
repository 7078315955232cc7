import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { secretOverlapMs } from '../delivery-options.ts'
import type { SigningKey } from '../signing/signing-keys.ts'

/** A replaced signing secret that stays valid for receivers that do not have the new one yet. */
export interface RetiredSecret {
  readonly secret: string
  readonly untilMs: number
}

/** The parts of a webhook that are stored encrypted. */
export interface WebhookSecrets {
  /** The secret fields of the wire shape; null when none is set. */
  readonly fields: Document | null
  /** The newest first. */
  readonly retired: readonly RetiredSecret[]
  /** The current one first. */
  readonly signingKeys: readonly SigningKey[]
}

/** The fields of a webhook's change that concern its secrets. */
export interface SecretChange {
  readonly doc: Document
  readonly secrets: Document | null
}

/** Limits the signatures of a message. */
const MAX_RETIRED = 5

/**
 * Returns the secrets that stay valid beside the new one after the change from `before` to `after`. Each has its own
 * end: a later change of the period does not move it.
 * @throws AppError invalid when too many would be valid at the same time.
 */
export function retireSecrets(
  before: { readonly secrets: Document | null; readonly retired: readonly RetiredSecret[] },
  after: SecretChange,
  now: Date,
): RetiredSecret[] {
  const [old, next] = [secretOf(before.secrets), secretOf(after.secrets)]
  if (next === null) return []
  const untilMs = now.getTime() + secretOverlapMs(after.doc)
  const replaced = old === null || old === next ? [] : [{ secret: old, untilMs }]
  const retired = [...replaced, ...before.retired].filter(
    ({ secret, untilMs: endMs }) => endMs > now.getTime() && secret !== next,
  )
  if (retired.length > MAX_RETIRED)
    throw invalidField('secret', `at most ${MAX_RETIRED} former secrets may be valid at the same time`)
  return retired
}

/** Returns the signing secret; null when it is missing or empty. */
export function secretOf(fields: Document | null): string | null {
  const secret = fields?.['secret']
  return typeof secret === 'string' && secret !== '' ? secret : null
}

/** Returns the secrets that sign now: the current one first. Empty for a webhook without a secret. */
export function signingSecrets({ fields, retired }: Pick<WebhookSecrets, 'fields' | 'retired'>, now: Date): string[] {
  const secret = secretOf(fields)
  if (secret === null) return []
  return [secret, ...retired.filter(({ untilMs }) => untilMs > now.getTime()).map(({ secret: former }) => former)]
}

/** Encrypts the secrets for the webhook with this id, so that they can't be moved to another row. */
export function sealWebhookSecrets(secrets: Secrets, id: string, plain: WebhookSecrets): Buffer | null {
  return plain.fields === null && plain.signingKeys.length === 0 ? null : secrets.seal(JSON.stringify(plain), id)
}

/** Earlier releases stored one retired secret, or null, and no keys. */
interface StoredSecrets {
  readonly fields: Document | null
  readonly retired: readonly RetiredSecret[] | RetiredSecret | null
  readonly signingKeys?: readonly SigningKey[]
}

/** @throws Error when the bytes were not sealed for this webhook by this installation. */
export function openWebhookSecrets(secrets: Secrets, id: string, sealed: Buffer | null): WebhookSecrets {
  if (sealed === null) return { fields: null, retired: [], signingKeys: [] }
  // The encryption authenticates the text: only sealWebhookSecrets can have written it.
  const { fields, retired, signingKeys = [] } = JSON.parse(secrets.open(sealed, id)) as StoredSecrets
  return { fields, retired: retired === null ? [] : 'secret' in retired ? [retired] : retired, signingKeys }
}
