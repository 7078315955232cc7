import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'

/** The devices of a site whose certificates expire soon. */
export interface ExpiringDevices {
  readonly orgId: string
  /** Null: those that are in no site. */
  readonly siteId: string | null
  readonly devices: number
  /** Name or MAC of the device whose certificate expires first. */
  readonly firstName: string
  readonly firstAt: Date
  /** MACs, at most a hundred of each type. */
  readonly aps: readonly string[]
  readonly switches: readonly string[]
  readonly gateways: readonly string[]
}

/** Lists the claimed devices that connected last by a certificate which expires before then, by their sites. */
export async function listExpiringDevices(reader: Reader, before: Date): Promise<ExpiringDevices[]> {
  const macs = (type: string) =>
    sql`coalesce((array_agg(device.mac order by device.mac) filter (where device.type = ${type}))[:100], '{}')`
  const { rows } = await sql<ExpiringDevices>`
    select device.org_id, device.site_id, count(*)::int as devices, min(session.certificate_expires_at) as first_at,
      (array_agg(coalesce(device.name, device.mac) order by session.certificate_expires_at, device.mac))[1] as first_name,
      ${macs('ap')} as aps, ${macs('switch')} as switches, ${macs('gateway')} as gateways
    from device_session session join device on device.id = session.device_id
    where session.certificate_expires_at < ${before}
      and (session.org_id is null or session.org_id = device.org_id)
    group by device.org_id, device.site_id
    order by device.org_id, device.site_id
  `.execute(reader)
  return rows
}
