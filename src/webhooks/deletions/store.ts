import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/db.ts'
import type { LaneKey } from '../lanes/store.ts'

/** Bounds a statement. PostgreSQL stores the bytes of large bodies apart, and deletes them one by one. */
export const deletedPortion = { count: 1024, bytes: 4 * 1024 * 1024 } as const

/** Lists deleted webhooks that still have messages, and deletes the records of the others. */
export async function listDeletions(db: Db): Promise<LaneKey[]> {
  await sql`delete from webhook_deletion d where ${hasNoRows}`.execute(db)
  return db.selectFrom('webhookDeletion').selectAll().orderBy('orgId').orderBy('webhookId').execute()
}

/** Deletes the record of a deleted webhook, unless it still has messages. */
export async function endDeletion(db: Db, { orgId, webhookId }: LaneKey): Promise<void> {
  await sql`
    delete from webhook_deletion d where d.org_id = ${orgId} and d.webhook_id = ${webhookId} and ${hasNoRows}
  `.execute(db)
}

/** The condition that the deleted webhook `d` has no messages; it takes two look-ups, as the conditions of `store-look-ups.ts`. */
const hasNoRows = sql<boolean>`not exists (
    select from webhook_message m where m.webhook_id = any(array[d.webhook_id]) and m.due_at >= '-infinity')
  and not exists (
    select from webhook_parked_message p
    where p.org_id = any(array[d.org_id]) and p.webhook_id = any(array[d.webhook_id]))`

export interface DeletedRows {
  readonly deleted: number
  /** When the last of them was due, or was parked; null if there was none. */
  readonly last: Date | null
}

/**
 * Deletes the first messages of a deleted webhook, at most a portion of them, without those that another transaction has locked: it
 * deletes them in another order.
 *
 * @param from The `last` of the portion before. Otherwise a portion would read what those before it have deleted.
 */
export type DeletePortion = (tx: Tx, webhook: LaneKey, from: Date | null) => Promise<DeletedRows>

/** Deletes messages that wait. */
export const deleteWaitingMessages: DeletePortion = (tx, { webhookId }, from) =>
  deletePortion(tx, { table: sql`webhook_message`, of: sql`webhook_id = ${webhookId}`, at: sql`due_at` }, from)

/** Deletes messages that were parked. */
export const deleteParkedMessages: DeletePortion = (tx, { orgId, webhookId }, from) => {
  const of = sql`org_id = ${orgId} and webhook_id = ${webhookId}`
  return deletePortion(tx, { table: sql`webhook_parked_message`, of, at: sql`parked_at` }, from)
}

interface MessagesOfWebhook {
  readonly table: RawBuilder<unknown>
  /** The condition that a message is one of the webhook. */
  readonly of: RawBuilder<unknown>
  /** The column by which an index orders the messages of a webhook. */
  readonly at: RawBuilder<unknown>
}

async function deletePortion(tx: Tx, { table, of, at }: MessagesOfWebhook, from: Date | null): Promise<DeletedRows> {
  const { count, bytes } = deletedPortion
  const { rows } = await sql<DeletedRows>`
    with first as materialized (
      select id, ${at} as at, octet_length(body) as bytes from ${table}
      where ${of} and ${at} >= coalesce(${from}::timestamptz, '-infinity')
      order by ${at}, id limit ${count} for update skip locked
    ), portion as materialized (
      select id from (
        select id, row_number() over earlier as place, sum(bytes) over earlier as bytes from first
        window earlier as (order by at, id)) sized
      where place = 1 or bytes <= ${bytes}
    ), deleted as (
      delete from ${table} where ${of} and id = any(array(select id from portion)) returning ${at} as at
    )
    select count(*)::int as deleted, max(at) as last from deleted
  `.execute(tx)
  return rows[0] ?? { deleted: 0, last: null }
}
