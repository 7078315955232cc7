import { type Selectable, sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import type { Page, Paged } from '../http/lists.ts'
import { sizesOf } from '../http/store-bounds.ts'
import { pageOf } from '../http/store-pages.ts'
import { type Db, type Reader, type Tx, json } from '../platform/db.ts'
import { notFound } from '../platform/errors.ts'
import type { WebhookTable } from './tables.ts'

/** The stored form of a webhook; `secrets` is encrypted. */
export type WebhookRow = Selectable<WebhookTable>

/** Identifies a webhook; `siteId` is null for an organization's webhook. */
export interface WebhookKey {
  readonly id: string
  readonly siteId: string | null
}

export interface StoredContent {
  readonly enabled: boolean
  readonly topics: readonly string[]
  readonly doc: Record<string, unknown>
  readonly secrets: Buffer | null
  readonly at: Date
}

/** Oldest first. */
export function listWebhooks(
  db: Db,
  scope: OrgScope,
  { siteId, page }: { readonly siteId: string | null; readonly page: Page },
): Promise<Paged<WebhookRow>> {
  const hits = db
    .selectFrom('webhook')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('siteId', 'is not distinct from', siteId)
  const bytes = sql`octet_length(hit.doc::text) + coalesce(octet_length(hit.secrets), 0)`
  return pageOf<WebhookRow>(db, hits, page, { sizes: sizesOf(hits, bytes) })
}

function selectWebhook(reader: Reader, scope: OrgScope, { id, siteId }: WebhookKey) {
  return reader
    .selectFrom('webhook')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('siteId', 'is not distinct from', siteId)
}

export async function getWebhook(reader: Reader, scope: OrgScope, key: WebhookKey): Promise<WebhookRow> {
  const row = await selectWebhook(reader, scope, key).executeTakeFirst()
  if (row === undefined) throw notFound(key.id)
  return row
}

/** Locks the webhook, then its lane, until `tx` ends. */
export async function lockWebhook(tx: Tx, scope: OrgScope, key: WebhookKey): Promise<WebhookRow> {
  const row = await selectWebhook(tx, scope, key).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(key.id)
  await tx
    .selectFrom('webhookLane')
    .select('webhookId')
    .where('orgId', '=', scope.orgId)
    .where('webhookId', '=', key.id)
    .forUpdate()
    .execute()
  return row
}

export async function insertWebhook(
  tx: Tx,
  scope: OrgScope,
  { id, siteId, ...content }: WebhookKey & StoredContent,
): Promise<WebhookRow> {
  const { at } = content
  const row = await tx
    .insertInto('webhook')
    .values({ orgId: scope.orgId, id, siteId, createdAt: at, ...columnsOf(content) })
    .returningAll()
    .executeTakeFirstOrThrow()
  await tx.insertInto('webhookLane').values({ orgId: scope.orgId, webhookId: id }).execute()
  return row
}

/** Requires lockWebhook in the same transaction. */
export async function updateWebhookRow(
  tx: Tx,
  scope: OrgScope,
  { id, ...content }: { readonly id: string } & StoredContent,
): Promise<WebhookRow> {
  return tx
    .updateTable('webhook')
    .set(columnsOf(content))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function columnsOf({ enabled, topics, doc, secrets, at }: StoredContent) {
  return { enabled, topics: [...topics], doc: json(doc), secrets, modifiedAt: at }
}

/** Deletes the webhook with its lane and waiting messages. Requires lockWebhook in the same transaction. */
export async function deleteWebhookRow(tx: Tx, scope: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('webhook').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

export interface NewMessage {
  readonly orgId: string
  readonly id: string
  readonly webhookId: string
  readonly topic: string
  readonly body: Buffer
  readonly eventCount: number
}

/** Inserts messages that are due at once. The lanes must be locked, and addToLanes must follow. */
export async function insertMessages(tx: Tx, messages: readonly NewMessage[], at: Date): Promise<void> {
  const column = <K extends keyof NewMessage>(name: K) => messages.map((message) => message[name])
  await sql`
    insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, due_at, created_at)
    select m.*, ${at}::timestamptz, ${at}::timestamptz
    from unnest(${column('orgId')}::uuid[], ${column('id')}::uuid[], ${column('webhookId')}::uuid[],
      ${column('topic')}::text[], ${column('body')}::bytea[], ${column('eventCount')}::integer[]) m
  `.execute(tx)
}
