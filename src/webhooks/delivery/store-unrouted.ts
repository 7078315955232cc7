import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { insertRows, rowsAs } from '../../platform/database/rows.ts'
import { type LaneKey, laneKeyColumns } from '../lanes/store.ts'
import { type ScheduledMessage, scheduledColumns } from '../store.ts'

/** Locks webhooks, so that none is deleted until `tx` ends. @returns The ids of those that exist. */
export async function shareWebhooks(tx: Tx, keys: readonly LaneKey[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select w.id from webhook w join ${rowsAs('k', laneKeyColumns, keys)} on w.org_id = k.org_id and w.id = k.webhook_id
    order by w.id for key share of w
  `.execute(tx)
  return new Set(rows.map(({ id }) => id))
}

/** Inserts messages that were sent before they were routed, and have to be sent again. Their webhooks must be locked, and the counts of their lanes don't change. */
export async function insertAttempted(tx: Tx, messages: readonly ScheduledMessage[]): Promise<void> {
  await insertRows(tx, scheduledColumns, messages)
}
