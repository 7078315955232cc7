import { sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Reader } from '../../platform/db.ts'

/** What metrics need of a device; null for what it never reported. */
export interface MetricsDevice {
  readonly mac: string
  readonly model: string
  readonly name: string | null
  readonly firmware: string | null
  readonly activePorts: number | null
  readonly totalPorts: number | null
}

/** Lists the switches or gateways of a site by MAC. */
export async function listMetricsDevices(
  reader: Reader,
  { orgId, siteId }: SiteScope,
  { type, mac }: { readonly type: 'switch' | 'gateway'; readonly mac: string | null },
): Promise<MetricsDevice[]> {
  const { rows } = await sql<MetricsDevice>`
    select device.mac, device.model, device.name, status.firmware, summary.active_ports, summary.total_ports
    from device
      left join device_status status on status.org_id = device.org_id and status.device_id = device.id
      left join device_summary summary on summary.org_id = device.org_id and summary.device_id = device.id
    where device.org_id = ${orgId} and device.site_id = ${siteId} and device.type = ${type}
      ${mac === null ? sql`` : sql`and device.mac = ${mac}`}
    order by device.id`.execute(reader)
  return rows
}
