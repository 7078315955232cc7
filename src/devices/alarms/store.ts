import { sql } from 'kysely'
import type { DeviceType } from '../../events/device-type.ts'
import type { Reader } from '../../platform/database/db.ts'

export interface DownDevice {
  readonly orgId: string
  readonly deviceId: string
  readonly siteId: string | null
  readonly mac: string
  readonly type: DeviceType
  readonly name: string | null
}

/**
 * Lists devices that are offline without an open alarm. Excludes outages shorter than the threshold of their site, and
 * devices that a person or an upgrade reboots. A device that has connected since a person's command has rebooted.
 *
 * @param rebootedSince A device that went offline before this, or whose reboot was commanded before it, should be back.
 */
export async function listDownDevices(
  reader: Reader,
  { rebootedSince, limit }: { readonly rebootedSince: Date; readonly limit: number },
): Promise<DownDevice[]> {
  const { rows } = await sql<DownDevice>`
    select device.org_id, device.id as device_id, device.site_id, device.mac, device.type, device.name
    from device_disconnection disconnection
    join device on device.org_id = disconnection.org_id and device.id = disconnection.device_id
    where disconnection.disconnected_at is not null
      and not exists (
        select from device_outage outage
        where outage.org_id = device.org_id and outage.device_id = device.id)
      and not exists (
        select from alarm
        where alarm.org_id = device.org_id and alarm.type = 'device_down' and alarm.subject = device.id::text
          and alarm.ended_at is null)
      and not exists (
        select from device_upgrade target
        where target.org_id = device.org_id and target.device_id = device.id and target.in_flight)
      and not (disconnection.disconnected_at > ${rebootedSince} and exists (
        select from device_command command
        join device_session session on session.device_id = command.device_id and session.epoch = command.epoch
        where command.org_id = device.org_id and command.device_id = device.id and command.site_upgrade_id is null
          and command.kind in ('restart', 'restore_backup')
          and (command.state = 'sent' or command.finished_at > ${rebootedSince})))
    order by disconnection.disconnected_at
    limit ${limit}
  `.execute(reader)
  return rows
}

/**
 * Lists devices whose open alarm has to end: they are connected again, or their organization has given them up or moved them to
 * another site. The next comparison raises the alarm of a moved device again, at its new site.
 */
export async function listRecoveredDevices(
  reader: Reader,
  limit: number,
): Promise<{ readonly orgId: string; readonly deviceId: string }[]> {
  const { rows } = await sql<{ orgId: string; deviceId: string }>`
    select alarm.org_id, alarm.subject as device_id from alarm
    where alarm.type = 'device_down' and alarm.ended_at is null
      and not exists (
        select from device_disconnection disconnection
        join device on device.org_id = disconnection.org_id and device.id = disconnection.device_id
        where disconnection.org_id = alarm.org_id and disconnection.device_id = alarm.subject::uuid
          and disconnection.disconnected_at is not null and device.site_id is not distinct from alarm.site_id)
    limit ${limit}
  `.execute(reader)
  return rows
}
