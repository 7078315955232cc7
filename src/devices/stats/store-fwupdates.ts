import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/db.ts'
import { columnsOf, rowsAs } from '../../platform/rows.ts'
import type { FwUpdate } from '../tables.ts'
import { noteStats } from './note-stats.ts'

export interface FwUpdateChange {
  readonly deviceId: string
  /** Null: no update is running any more. */
  readonly shown: Pick<FwUpdate, 'progress' | 'status' | 'will_retry'> | null
}

const shownColumns = columnsOf('deviceStatus', { orgId: 'uuid', deviceId: 'uuid' }, { shown: 'jsonb' })

/** Sets the displayed progress of the devices. `status_id` changes each time, because clients watch it. */
export async function updateFwUpdates(
  tx: Tx,
  scope: InOrg,
  changes: readonly FwUpdateChange[],
  at: Date,
): Promise<void> {
  if (changes.length === 0) return
  const rows = changes.map((change) => ({ ...change, orgId: scope.orgId }))
  await sql`
    with change as (
      select status.org_id, status.device_id, new.shown
      from ${rowsAs('new', shownColumns, rows)}
      join device_status status on status.org_id = new.org_id and status.device_id = new.device_id
      order by status.device_id for update of status
    )
    update device_status status set fwupdate = change.shown || jsonb_build_object(
      'status_id', coalesce((status.fwupdate->>'status_id')::integer, 0) + 1, 'timestamp', ${at.getTime() / 1000}::float8)
    from change where status.org_id = change.org_id and status.device_id = change.device_id
  `.execute(tx)
  noteStats(tx, rows)
}

/** Increases the displayed progress of a device with a running update; it never decreases. */
export async function raiseProgress(
  tx: Tx,
  scope: InOrg,
  { deviceId, progress, at }: { readonly deviceId: string; readonly progress: number; readonly at: Date },
): Promise<void> {
  await sql`
    update device_status status set fwupdate = status.fwupdate || jsonb_build_object('progress', ${progress}::integer,
      'status_id', (status.fwupdate->>'status_id')::integer + 1, 'timestamp', ${at.getTime() / 1000}::float8)
    where status.org_id = ${scope.orgId} and status.device_id = ${deviceId}
      and status.fwupdate->>'status' = 'inprogress' and (status.fwupdate->>'progress')::integer < ${progress}::integer
  `.execute(tx)
  noteStats(tx, [{ orgId: scope.orgId, deviceId }])
}
