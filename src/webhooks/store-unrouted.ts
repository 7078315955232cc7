import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'
import { columnsOf, insertRows, rowsAs } from '../platform/rows.ts'
import { type LaneKey, laneKeyColumns } from './store-lanes.ts'

/** A message that was sent before it was routed, and has to be sent again. */
export interface AttemptedMessage {
  readonly orgId: string
  readonly id: string
  readonly webhookId: string
  readonly topic: string
  readonly body: Buffer
  readonly eventCount: number
  readonly dueAt: Date
  readonly createdAt: Date
}

/** Locks webhooks, so that none is deleted until `tx` ends. @returns The ids of those that exist. */
export async function shareWebhooks(tx: Tx, keys: readonly LaneKey[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select w.id from webhook w join ${rowsAs('k', laneKeyColumns, keys)} on w.org_id = k.org_id and w.id = k.webhook_id
    order by w.id for key share of w
  `.execute(tx)
  return new Set(rows.map(({ id }) => id))
}

const attemptedColumns = columnsOf('webhookMessage', {
  orgId: 'uuid',
  id: 'uuid',
  webhookId: 'uuid',
  topic: 'text',
  body: 'bytea',
  eventCount: 'integer',
  dueAt: 'timestamptz',
  createdAt: 'timestamptz',
})

/** Inserts messages. Their webhooks must be locked, and the counts of their lanes don't change. */
export async function insertAttempted(tx: Tx, messages: readonly AttemptedMessage[]): Promise<void> {
  await insertRows(tx, attemptedColumns, messages)
}
