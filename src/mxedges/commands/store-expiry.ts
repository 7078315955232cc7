import { sql } from 'kysely'
import { type Tx, json } from '../../platform/database/db.ts'
import type { EndedCommand } from './store.ts'

/**
 * Ends queued commands that were not sent in time, except locked ones and those of locked organizations, and returns them. The
 * caller appends events: a deletion of the organization would wait for the commands, and the events for the deletion.
 */
export async function expireCommands(tx: Tx, at: Date): Promise<EndedCommand[]> {
  const expired = await sql<EndedCommand>`
    with due as materialized (
      select command.org_id, command.id from mxedge_command command
      join org on org.id = command.org_id
      where command.state = 'queued' and command.expires_at <= ${at}
      order by command.id for update of command skip locked for key share of org skip locked
    )
    update mxedge_command command set state = 'expired', finished_at = ${at}
    from due where command.org_id = due.org_id and command.id = due.id
    returning command.org_id, command.id, command.mxedge_id, command.kind, command.params, command.state,
      command.outcome
  `.execute(tx)
  return expired.rows
}

/**
 * Ends commands that a failing process sent and then forgot, except locked ones: they were silent for longer than any
 * command is.
 */
export async function timeOutCommands(tx: Tx, silentSince: Date, at: Date): Promise<void> {
  await sql`
    with silent as materialized (
      select org_id, id from mxedge_command where state = 'sent' and coalesce(progressed_at, sent_at) < ${silentSince}
      order by id for update skip locked
    )
    update mxedge_command command
    set state = 'unknown', outcome = ${json({ why: 'timeout' })}::jsonb, finished_at = ${at}
    from silent where command.org_id = silent.org_id and command.id = silent.id
  `.execute(tx)
}
