import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { rowsAs } from '../../platform/database/rows.ts'
import { countPerLane, dueFromWith, laneChangeColumns } from '../lanes/store.ts'
import { type NewMessage, messageColumns } from '../store.ts'
import { isLaneOf } from '../store-look-ups.ts'

/**
 * Inserts messages that are due immediately, adds them to the counts of their lanes, and makes the lanes due unless
 * they are pulled. Lanes are locked in the common order of their keys.
 */
export async function enqueueMessages(tx: Tx, messages: readonly NewMessage[], at: Date): Promise<void> {
  await sql`
    with message as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, order_key, due_at, created_at)
      select org_id, id, webhook_id, topic, body, event_count, order_key, ${at}::timestamptz, ${at}::timestamptz
      from ${rowsAs('new', messageColumns, messages)}
    ), locked as materialized (
      select l.org_id, l.webhook_id, k.messages
      from webhook_lane l join ${rowsAs('k', laneChangeColumns, countPerLane(messages))}
        on ${isLaneOf('l', 'k')}
      order by k.org_id, k.webhook_id for update of l
    )
    update webhook_lane l
    set pending = l.pending + k.messages, due_from = ${dueFromWith(sql`${at}::timestamptz`)},
      next_at = case when l.pulled then l.next_at else least(l.next_at, greatest(l.open_until, ${at}::timestamptz)) end
    from locked k where ${isLaneOf('l', 'k')}
  `.execute(tx)
}
