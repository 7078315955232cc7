import { type RawBuilder, sql } from 'kysely'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isUnanswered, lockByKey } from './store.ts'

/**
 * Continues the ids of calls at a random one. In a database that was restored to an older point they would otherwise be those of
 * calls that the database no longer knows, and whose late replies devices may still send.
 */
export async function scatterCallIds(tx: Tx): Promise<void> {
  await sql`
    select setval('device_call_id', seqmin + floor(random() * (seqmax - seqmin))::bigint)
    from pg_sequence where seqrelid = 'device_call_id'::regclass
  `.execute(tx)
}

/**
 * SQL condition on a command: a step of an upgrade whose connection was lost, and which the device may still be executing.
 */
function mayRun(command: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${command}.state = 'unknown' and ${command}.site_upgrade_id is not null
    and ${command}.kind in ('upgrade', 'stage', 'activate', 'restore_backup')
    and ${command}.outcome ->> 'why' in ('connection_lost', 'gateway_lost')
    and not ${command}.outcome ? 'idle', false)`
}

/** A call of a step of an upgrade that the device may still be executing. */
export interface LostCall {
  readonly deviceId: string
  readonly callId: number
}

const idColumns = columnsOf('deviceSession', { deviceId: 'uuid' })

/** Lists the lost calls of devices, oldest first. */
export async function listLostCalls(reader: Reader, deviceIds: readonly string[]): Promise<LostCall[]> {
  const devices = deviceIds.map((deviceId) => ({ deviceId }))
  const { rows } = await sql<LostCall>`
    select lost.device_id, lost.call_id
    from ${rowsAs('session', idColumns, devices)}
    cross join lateral (
      select id, device_id, call_id from device_command
      where device_id = session.device_id and call_id is not null and ${mayRun(sql`device_command`)} offset 0) lost
    order by lost.id
  `.execute(reader)
  return rows
}

/**
 * Locks the lost commands of the devices, except those that another transaction has locked.
 * @returns The ids of the devices of the latter.
 */
export async function lockFreeLostCommands(tx: Tx, deviceIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ deviceId: string }>`
    with lost as materialized (
      select org_id, id, device_id from device_command
      where device_id = ${anyOf(deviceIds)} and call_id is not null and ${mayRun(sql`device_command`)}
    ), free as materialized (
      select command.id from lost
      join device_command command on command.org_id = lost.org_id and command.id = lost.id
      order by command.id for update of command skip locked
    )
    select distinct device_id from lost where not exists (select from free where free.id = lost.id)
  `.execute(tx)
  return rows.map(({ deviceId }) => deviceId)
}

/** A device that is back, and reports or shows what it executes. */
export interface IdleDevice {
  readonly deviceId: string
  /** The epoch of its present session: older ones carried the lost commands. */
  readonly epoch: string
  /** The ids of the commands that it is executing, or whose outcome it is about to report. */
  readonly executing: readonly string[]
}

const idleColumns = columnsOf('deviceSession', { deviceId: 'uuid', epoch: 'bigint' }, { executing: 'jsonb' })

/**
 * Records that devices no longer execute their lost commands: such a command changes nothing any more, whatever it has
 * changed before. A device has to show first whether it has booted, because a boot may be what the command has changed.
 */
export async function markCommandsIdle(tx: Tx, devices: readonly IdleDevice[]): Promise<void> {
  const marked = await sql<{ deviceId: string }>`
    with locked as materialized (
      select command.org_id, command.id
      from (
        select lost.org_id, lost.id, idle.epoch as present_epoch
        from ${rowsAs('idle', idleColumns, devices)}
        join device_session session on session.device_id = idle.device_id and session.epoch = idle.epoch
        cross join lateral (
          select org_id, id from device_command
          where device_id = idle.device_id and epoch < idle.epoch and ${mayRun(sql`device_command`)}
            and not idle.executing ? id::text offset 0) lost
        join device_status status on status.org_id = lost.org_id and status.device_id = idle.device_id
          and (status.boot_id is not null or status.boot_known_ms >= session.connected_ms)
        order by lost.id) lost
      cross join lateral ${lockByKey(sql`lost`)} command
      where command.epoch < lost.present_epoch and ${isUnanswered} and ${mayRun(sql`command`)}
    )
    update device_command command set outcome = command.outcome || '{"idle": true}'::jsonb
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.device_id
  `.execute(tx)
  const deviceIds = marked.rows.map(({ deviceId }) => deviceId)
  if (deviceIds.length > 0) wakeAfterCommit(tx, 'rollouts', deviceIds)
}
