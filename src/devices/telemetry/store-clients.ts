import { sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { WiredClient, WirelessClient } from './telemetry.ts'

export interface DeviceClients {
  readonly deviceId: string
  readonly mac: string
  readonly siteId: string
  /** True while the rates are those of now. */
  readonly isLive: boolean
  /** Null before the first report in this site: reports from another site are not shown here. */
  readonly clients: { readonly wireless: readonly WirelessClient[]; readonly wired: readonly WiredClient[] } | null
  readonly reportedAt: Date | null
}

/** Returns undefined for a device that is not in the site. */
export async function findClients(
  reader: Reader,
  { orgId, siteId }: SiteScope,
  deviceId: string,
): Promise<DeviceClients | undefined> {
  const { rows } = await sql<DeviceClients>`
    select device.id as device_id, device.mac, device.site_id, known.clients, known.reported_at,
      coalesce(status.connected and known.reported_at >= status.booted_at, false) as is_live
    from device
      left join device_report known on known.org_id = device.org_id and known.device_id = device.id
        and known.site_id = device.site_id
      left join device_status status on status.org_id = device.org_id and status.device_id = device.id
    where device.org_id = ${orgId} and device.site_id = ${siteId} and device.id = ${deviceId}`.execute(reader)
  return rows[0]
}
