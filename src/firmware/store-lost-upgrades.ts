import { sql } from 'kysely'
import { type CommandToSend, isUnanswered, sentColumns } from '../devices/commands/store.ts'
import type { Reader } from '../platform/database/db.ts'

/** A device reports that an upgrade has ended, but not which one. */
export interface UpgradeEnd {
  readonly deviceId: string
  /** Epoch seconds by the device's own clock; it counts in whole seconds. */
  readonly atS: number
}

/**
 * Finds the step of an upgrade that a device can mean: its latest one, if the outcome is still open or unknown because of a
 * lost connection, if the step was sent before, and if the device has received the whole image, which proves that the step
 * was running. `activate` has no download: the device had the image before.
 */
export async function findLostUpgrade(
  reader: Reader,
  { deviceId, atS }: UpgradeEnd,
): Promise<CommandToSend | undefined> {
  const found = await sql<CommandToSend>`
    select ${sentColumns}
    from device_command command
    left join firmware_download download on download.org_id = command.org_id and download.command_id = command.id
    join device on device.org_id = command.org_id and device.id = command.device_id
    join device_status status on status.org_id = command.org_id and status.device_id = command.device_id
    where command.device_id = ${deviceId} and command.call_id is not null and command.kind in ('upgrade', 'stage', 'activate')
      and (command.kind = 'activate' or download.delivered_at is not null)
      and command.state in ('sent', 'unknown') and ${isUnanswered}
      and extract(epoch from command.sent_at) < ${atS}::float8 + 1
      and not exists (
        select from device_command newer
        where newer.org_id = command.org_id and newer.id > command.id and newer.device_id = command.device_id
          and newer.kind in ('upgrade', 'stage', 'activate') and newer.call_id is not null)
    limit 1
  `.execute(reader)
  return found.rows[0]
}
