import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { noteStats } from './note-stats.ts'

/** The wire's `fwupdate` of a row of device_upgrade; null: no progress is shown. */
export function fwUpdateOf(own: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${own}.status is not null then jsonb_build_object('progress', ${own}.progress, 'status', ${own}.status,
    'status_id', ${own}.status_id, 'timestamp', extract(epoch from ${own}.shown_at)::float8, 'will_retry', ${own}.will_retry) end`
}

/** Only running updates, and only forward: reports may arrive late. */
function raiseTo(progress: RawBuilder<unknown>, at: Date): Record<'set' | 'where', RawBuilder<unknown>> {
  return {
    set: sql`progress = ${progress}, status_id = own.status_id + 1, shown_at = ${at}`,
    where: sql`own.status = 'inprogress' and own.progress < ${progress}`,
  }
}

/** The progress of the update of a device. */
export interface DeviceProgress {
  readonly orgId: string
  readonly deviceId: string
  readonly progress: number
}

const progressColumns = columnsOf('deviceUpgrade', { orgId: 'uuid', deviceId: 'uuid', progress: 'smallint' })

/**
 * Increases the displayed progress of devices with a running update; it never decreases. Waits for no other transaction, so
 * that devices of several organizations can share this one.
 * @returns The devices that another transaction is changing: ask again.
 */
export async function raiseProgress(tx: Tx, reached: readonly DeviceProgress[], at: Date): Promise<Set<string>> {
  if (reached.length === 0) return new Set()
  const { set, where } = raiseTo(sql`new.progress`, at)
  const { rows: locked } = await sql<{ deviceId: string }>`
    with said as materialized (
      select org_id, device_id, max(progress) as progress
      from ${rowsAs('raised', progressColumns, reached)}
      group by org_id, device_id
    ), new as materialized (
      select own.org_id, own.device_id, said.progress
      from said
      join device_upgrade own on own.org_id = said.org_id and own.device_id = said.device_id
      where own.status = 'inprogress' and own.progress < said.progress
      order by own.device_id for update of own skip locked
    ), raised as (
      update device_upgrade own set ${set}
      from new where own.org_id = new.org_id and own.device_id = new.device_id and ${where}
      returning own.org_id, own.device_id
    )
    select seen.device_id
    from said
    join device_upgrade seen on seen.org_id = said.org_id and seen.device_id = said.device_id
    where seen.status = 'inprogress' and seen.progress < said.progress
      and not exists (select from raised where raised.org_id = said.org_id and raised.device_id = said.device_id)
  `.execute(tx)
  noteStats(tx, reached)
  return new Set(locked.map(({ deviceId }) => deviceId))
}

/** The progress that a session of a device has reported. */
export interface ReportedProgress {
  readonly deviceId: string
  readonly epoch: string
  readonly progress: number
}

const reportedColumns = columnsOf('deviceUpgrade', { deviceId: 'uuid', progress: 'smallint' }, { epoch: 'bigint' })

/**
 * Increases the displayed progress of devices whose newest sessions have reported it. Call it before `tx` locks the
 * status of a device: see shareUpgradesInFlight().
 */
export async function raiseReportedProgress(tx: Tx, reported: readonly ReportedProgress[], at: Date): Promise<void> {
  if (reported.length === 0) return
  const { set, where } = raiseTo(sql`new.progress`, at)
  await sql`
    with new as materialized (
      select own.org_id, own.device_id, said.progress
      from ${rowsAs('said', reportedColumns, reported)}
      join device on device.id = said.device_id
      join device_status status on status.org_id = device.org_id and status.device_id = device.id and status.epoch = said.epoch
      join device_upgrade own on own.org_id = device.org_id and own.device_id = device.id
      where own.status = 'inprogress' and own.progress < said.progress
      order by own.device_id for update of own
    )
    update device_upgrade own set ${set}
    from new where own.org_id = new.org_id and own.device_id = new.device_id and ${where}
  `.execute(tx)
}
