import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type InOrg, type PlaceScope, siteIdOf } from '../access/scope.ts'
import type { Conditions } from '../http/lists/filters.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { sizesOf } from '../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../http/lists/store-filters.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import { type Db, type Reader, type Tx } from '../platform/database/db.ts'
import { documentText } from '../platform/sealing/document-column.ts'
import { columnsOf } from '../platform/database/rows.ts'
import { notFound } from '../platform/errors.ts'
import { addMs } from '../platform/time/clock.ts'
import type { webhookFilters } from './filters.ts'
import { OVERFLOWING_MS } from './health/decide-state.ts'
import type { Disabled } from './health/disabled.ts'
import type { WebhookTable } from './tables.ts'
import { topicNameOf } from './topics.ts'

/** The stored form of a webhook; `secrets` is encrypted. */
export type WebhookRow = Selectable<WebhookTable>

export interface StoredContent {
  readonly enabled: boolean
  readonly topics: readonly string[]
  readonly doc: Record<string, unknown>
  readonly secrets: Buffer | null
  /** When and why the webhook was disabled; null for one that is enabled. Default: unchanged. */
  readonly disabled?: Disabled | null | undefined
  readonly at: Date
}

/** Lists the webhooks of exactly this place: an organization's list has none of its sites. */
export function selectWebhooks(reader: Reader, scope: PlaceScope) {
  return reader
    .selectFrom('webhook')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('siteId', 'is not distinct from', siteIdOf(scope))
}

interface Listed {
  readonly conditions: Conditions<typeof webhookFilters>
  readonly now: Date
  readonly page: Page
}

/** Oldest first. */
export function listWebhooks(db: Db, scope: PlaceScope, { conditions, now, page }: Listed): Promise<Paged<WebhookRow>> {
  const columns = { failing: column(isFailing(now)), name: column(sql`webhook.doc->>'name'`) }
  const hits = selectWebhooks(db, scope).where(allHold(conditionsOn<typeof webhookFilters>(columns, conditions)))
  const bytes = sql`octet_length(hit.doc::text) + coalesce(octet_length(hit.secrets), 0)`
  return pageOf<WebhookRow>(db, { hits, sizes: sizesOf(bytes) }, page)
}

/** As decideState() decides it: a webhook is failing, also while its breaker is open or because nobody fetches, overflowing, or disabled by the service. */
function isFailing(now: Date): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from webhook_lane lane
    where lane.org_id = webhook.org_id and lane.webhook_id = webhook.id and case when webhook.enabled
      then lane.failures > 0 or (lane.pulled and lane.failing_since is not null) or lane.overflowed_at >= ${addMs(now, -OVERFLOWING_MS)}
      else webhook.disabled_why <> 'request' end)`
}

/** @throws AppError not_found. */
export async function getWebhook(reader: Reader, scope: PlaceScope, id: string): Promise<WebhookRow> {
  const row = await selectWebhooks(reader, scope).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Does the same as lockWebhook(), but returns undefined if there is none. */
export function lockWebhookIfAny(tx: Tx, scope: PlaceScope, id: string): Promise<WebhookRow | undefined> {
  return selectWebhooks(tx, scope).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/** Does the same, and returns undefined also if the webhook has changed since this version of it was read. */
export function lockUnchangedWebhook(
  tx: Tx,
  scope: PlaceScope,
  { id, version }: { readonly id: string; readonly version: string },
): Promise<WebhookRow | undefined> {
  return selectWebhooks(tx, scope)
    .where('id', '=', id)
    .where(sql`xmin::text`, '=', version)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/**
 * Locks the webhook until `tx` ends. The router does not wait for it.
 * @throws AppError not_found.
 */
export async function lockWebhook(tx: Tx, scope: PlaceScope, id: string): Promise<WebhookRow> {
  const row = await lockWebhookIfAny(tx, scope, id)
  if (row === undefined) throw notFound(id)
  return row
}

/**
 * Locks the webhook and its lane until `tx` ends, so that no message can be added.
 * @throws AppError not_found.
 */
export async function lockWebhookAndLane(tx: Tx, scope: PlaceScope, id: string): Promise<WebhookRow> {
  const row = await selectWebhooks(tx, scope).where('id', '=', id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  await tx
    .selectFrom('webhookLane')
    .select('webhookId')
    .where('orgId', '=', scope.orgId)
    .where('webhookId', '=', id)
    .forUpdate()
    .execute()
  return row
}

export async function insertWebhook(
  tx: Tx,
  scope: PlaceScope,
  { id, ...content }: { readonly id: string } & StoredContent,
): Promise<WebhookRow> {
  const { at } = content
  const row = await tx
    .insertInto('webhook')
    .values({ orgId: scope.orgId, id, siteId: siteIdOf(scope), createdAt: at, ...storedColumns(content) })
    .returningAll()
    .executeTakeFirstOrThrow()
  await tx.insertInto('webhookLane').values({ orgId: scope.orgId, webhookId: id }).execute()
  return row
}

/** Requires lockWebhook in the same transaction. */
export async function updateWebhookRow(
  tx: Tx,
  scope: InOrg,
  { id, ...content }: { readonly id: string } & StoredContent,
): Promise<WebhookRow> {
  return tx
    .updateTable('webhook')
    .set(storedColumns(content))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Events are routed by the current names of topics; the document stores their other names, because clients expect them
 * back.
 */
function storedColumns({ enabled, topics, doc, secrets, disabled, at }: StoredContent) {
  const names = [...new Set(topics.map(topicNameOf))]
  const isAsSent = names.length === topics.length && names.every((name, index) => name === topics[index])
  return {
    enabled,
    topics: names,
    doc: documentText(isAsSent ? doc : { ...doc, topics }),
    secrets,
    modifiedAt: at,
    ...(disabled !== undefined && { disabledAt: disabled?.at ?? null, disabledWhy: disabled?.why ?? null }),
  }
}

/** Deletes the webhook with its lane. A trigger records that its messages are left. Requires lockWebhookAndLane in the same transaction. */
export async function deleteWebhookRow(tx: Tx, scope: InOrg, id: string): Promise<void> {
  await tx.deleteFrom('webhook').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

export interface NewMessage {
  readonly orgId: string
  readonly id: string
  readonly webhookId: string
  readonly topic: string
  readonly body: Buffer
  readonly eventCount: number
  readonly orderKey: string | null
}

/** A message that is due at a certain time. */
export interface ScheduledMessage extends NewMessage {
  readonly dueAt: Date
  readonly createdAt: Date
  /** The delivery that has recorded the body; null if none has. */
  readonly payloadId: string | null
  readonly payloadAt: Date | null
}

const ofMessage = {
  orgId: 'uuid',
  id: 'uuid',
  webhookId: 'uuid',
  topic: 'text',
  body: 'bytea',
  eventCount: 'integer',
  orderKey: 'text',
} as const

/** The members of a NewMessage. */
export const messageColumns = columnsOf('webhookMessage', ofMessage)

/** The members of a ScheduledMessage. */
export const scheduledColumns = columnsOf('webhookMessage', {
  ...ofMessage,
  dueAt: 'timestamptz',
  createdAt: 'timestamptz',
  payloadId: 'uuid',
  payloadAt: 'timestamptz',
})
