import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, memberOf, rowsAs, rowsUpdate } from '../../platform/database/rows.ts'
import type { Param } from '../../platform/database/statement.ts'
import { type LaneKey, laneKeyColumns } from './store.ts'

/**
 * Makes messages due no earlier than an earlier message of their key that is retried. Messages that are due at the same
 * time have the order of their ids. The lanes must be locked, so that no message is added concurrently.
 */
export async function delayFollowers(tx: Tx, lanes: readonly LaneKey[]): Promise<void> {
  if (lanes.length === 0) return
  await sql`
    with retried as (
      select distinct on (m.webhook_id, m.order_key) m.org_id, m.webhook_id, m.order_key, m.id, m.due_at
      from ${rowsAs('k', laneKeyColumns, lanes)}
        join webhook_message m on m.org_id = k.org_id and m.webhook_id = k.webhook_id
          and m.order_key is not null and m.attempt > 0
      order by m.webhook_id, m.order_key, m.id
    )
    update webhook_message f set due_at = r.due_at
    from retried r
    where f.org_id = r.org_id and f.webhook_id = r.webhook_id and f.order_key = r.order_key
      and f.id > r.id and f.due_at < r.due_at
  `.execute(tx)
}

export interface Reschedule {
  readonly id: string
  /** Attempts made so far. */
  readonly attempt: number
  /** Those of them whose answers requested a pause. */
  readonly pauses: number
  readonly dueAt: Date
  readonly payloadId: string
  readonly payloadAt: Date
}

const attemptColumns = columnsOf('webhookMessage', {
  id: 'uuid',
  attempt: 'integer',
  pauses: 'integer',
  payloadId: 'uuid',
  payloadAt: 'timestamptz',
})

/** The condition that a message is one of these; see openQueuePool(). */
export function isOneOf<V>(rows: Param<V, readonly object[]>): RawBuilder<unknown> {
  return sql`webhook_message.id = any(${rows.map((all) => all.map((row) => memberOf(row, 'id')))}::uuid[])`
}

const countAttempts = rowsUpdate(attemptColumns, (param) => ({ key: ['id'], where: isOneOf(param('rows')) }))

/** Counts attempts of messages that keep their position among those that are due. */
export async function updateAttempts(tx: Tx, rows: readonly Omit<Reschedule, 'dueAt'>[]): Promise<void> {
  await countAttempts(tx, rows, {})
}
