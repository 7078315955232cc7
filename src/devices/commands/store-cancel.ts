import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { inOrder } from './store.ts'

/** Cancels those of the commands that have not been sent. */
export async function cancelQueuedCommands(tx: Tx, scope: InOrg, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length === 0) return
  await sql`
    with locked as materialized (
      select command.org_id, command.id from device_command command
      where command.org_id = ${scope.orgId} and command.id = ${anyOf(ids)} and command.state = 'queued' ${inOrder}
    )
    update device_command command set state = 'cancelled', finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}
