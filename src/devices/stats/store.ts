import { type Selectable, sql } from 'kysely'
import type { SiteScope, SitesScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { orgStatsFilters } from '../filters.ts'
import { deviceFields } from '../store-fields.ts'
import type { DeviceCapabilities, DeviceStatusTable, DeviceTable, FwUpdate } from '../tables.ts'
import type { DeviceReportTable } from '../telemetry/tables.ts'
import { byMac, pageOfDevices } from '../store-device-pages.ts'
import { fwUpdateOf } from './store-fwupdates.ts'
import {
  type DeviceFilter,
  deviceFilterOf,
  devicesWithStatus,
  everyDevice,
  passes,
  sizesOfStats,
} from '../store-lists.ts'

/** A device with its last report; null for values that it never reported. */
export type DeviceStats = Pick<
  Selectable<DeviceTable>,
  'orgId' | 'id' | 'siteId' | 'mac' | 'serial' | 'model' | 'type' | 'name' | 'doc' | 'createdAt' | 'modifiedAt'
> &
  Pick<
    Selectable<DeviceStatusTable>,
    'lastSeenAt' | 'firmware' | 'bootedAt' | 'extIp' | 'members' | 'load' | 'disconnectedAt'
  > & {
    readonly connected: boolean | null
    readonly capabilities: DeviceCapabilities | null
    /** Null: no progress of an update is shown. */
    readonly fwupdate: FwUpdate | null
    /** Null before the first report. */
    readonly report: Selectable<DeviceReportTable>['report'] | null
    readonly reportedAt: Date | null
  }

const columns = sql`device.org_id, device.site_id, device.mac, device.serial, device.model, device.type, device.name,
  device.doc, device.created_at, device.modified_at, status.connected, status.last_seen_at, status.disconnected_at,
  status.firmware, status.booted_at, status.ext_ip, status.members, status.load, status.capabilities,
  known.report, known.reported_at, ${fwUpdateOf(sql`own`)} as fwupdate`

/** Lists devices by MAC. */
export function listDeviceStats(
  reader: Reader,
  scope: SitesScope,
  { conditions, page }: { readonly conditions: Conditions<typeof orgStatsFilters>; readonly page: Page },
): Promise<Paged<DeviceStats>> {
  return pageOfDevices<DeviceStats>(reader, scope, {
    filter: deviceFilterOf(deviceFields, conditions),
    sort: byMac,
    page,
    columns,
    also: ['known', 'own'],
    sizes: sizesOfStats(scope),
  })
}

/** Lists the statistics of those of the devices that are in one of the scope's sites. */
export async function listDeviceStatsById(
  reader: Reader,
  scope: SitesScope,
  deviceIds: readonly string[],
): Promise<DeviceStats[]> {
  const filter = { ...everyDevice, more: [sql`device.id = ${anyOf(deviceIds)}`] }
  return (await selectStats(reader, scope, filter)).filter(({ siteId }) => siteId !== null)
}

export async function findDeviceStats(
  reader: Reader,
  scope: SiteScope,
  deviceId: string,
): Promise<DeviceStats | undefined> {
  const [found] = await selectStats(reader, scope, { ...everyDevice, more: [sql`device.id = ${deviceId}`] })
  return found
}

async function selectStats(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<DeviceStats[]> {
  const { rows } = await sql<DeviceStats>`
    select device.id, ${columns} from ${devicesWithStatus}
      left join device_report known on known.org_id = device.org_id and known.device_id = device.id
      left join device_upgrade own on own.org_id = device.org_id and own.device_id = device.id
    where ${passes(scope, filter)}
  `.execute(reader)
  return rows
}
