import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { insertRows, rowsAs } from '../../platform/database/rows.ts'
import { type LaneKey, laneKeyColumns } from '../lanes/store.ts'
import { type ScheduledMessage, scheduledColumns } from '../store.ts'
import { isWebhookOf } from '../store-look-ups.ts'

/** Locks webhooks, so that none is deleted until `tx` ends. @returns The versions of those that exist, by their ids. */
export async function shareWebhooks(tx: Tx, keys: readonly LaneKey[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; version: string }>`
    select w.id, w.xmin::text as version
    from webhook w join ${rowsAs('k', laneKeyColumns, keys)} on ${isWebhookOf('w', 'k')}
    order by k.webhook_id for key share of w
  `.execute(tx)
  return new Map(rows.map(({ id, version }) => [id, version]))
}

const tail = sql<{ id: string }>`on conflict do nothing returning id`

/**
 * Inserts messages that were sent, or accepted to be sent, before they were routed. Their webhooks must be locked, and the
 * counts of their lanes don't change.
 * @returns Those that were not in the database.
 */
export async function insertUnrouted(tx: Tx, messages: readonly ScheduledMessage[]): Promise<ScheduledMessage[]> {
  const inserted = new Set((await insertRows(tx, scheduledColumns, messages, { tail })).map(({ id }) => id))
  return messages.filter(({ id }) => inserted.has(id))
}
