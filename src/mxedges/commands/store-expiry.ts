import { sql } from 'kysely'
import { type Tx, json } from '../../platform/database/db.ts'
import type { EndedCommand } from './store.ts'

/** Ends queued commands that were not sent in time, and returns them. */
export async function expireCommands(tx: Tx, at: Date): Promise<EndedCommand[]> {
  const expired = await sql<EndedCommand>`
    update mxedge_command command set state = 'expired', finished_at = ${at}
    where command.state = 'queued' and command.expires_at <= ${at}
    returning command.org_id, command.id, command.mxedge_id, command.kind, command.params, command.state,
      command.outcome
  `.execute(tx)
  return expired.rows
}

/** Ends commands that a failing process sent and then forgot: they were silent for longer than any command is. */
export async function timeOutCommands(tx: Tx, silentSince: Date, at: Date): Promise<void> {
  await tx
    .updateTable('mxedgeCommand')
    .set({ state: 'unknown', outcome: json({ why: 'timeout' }), finishedAt: at })
    .where('state', '=', 'sent')
    .where((eb) => eb(eb.fn.coalesce('progressedAt', 'sentAt'), '<', silentSince))
    .execute()
}
