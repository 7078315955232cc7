import { type RawBuilder, type Selectable, sql } from 'kysely'
import { inSites } from '../access/store-sites.ts'
import type { Hardware } from '../devices/hardware/hardware.ts'
import { type Device, deviceColumns } from '../devices/store.ts'
import { devicesOnPage, sizesOfDevices } from '../devices/store-lists.ts'
import type { Conditions } from '../http/lists/filters.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { allHold, column, conditionsOn } from '../http/lists/store-filters.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import type { Reader, Tx } from '../platform/database/db.ts'
import type { DeviceCapabilities, DeviceStatusTable } from '../devices/tables.ts'
import type { installerDeviceFilters } from './filters.ts'

/** A device with its last report; null for values that it never reported. */
export type InstallerDevice = Device &
  Pick<Selectable<DeviceStatusTable>, 'lastSeenAt' | 'firmware' | 'bootedAt' | 'extIp' | 'members' | 'load'> & {
    readonly connected: boolean | null
    readonly capabilities: DeviceCapabilities | null
  }

/** A Virtual Chassis, with its reported hardware. */
export type InstallerChassis = InstallerDevice & { readonly hardware: Hardware | null }

const columns = sql`${deviceColumns}, status.connected, status.last_seen_at, status.firmware, status.booted_at,
  status.ext_ip, status.members, status.load, status.capabilities`

const devices = sql`
  select device.id, ${columns}
  from device left join site on site.org_id = device.org_id and site.id = device.site_id
    left join device_status status on status.org_id = device.org_id and status.device_id = device.id`

const devicesWithSite = sql`device left join site on site.org_id = device.org_id and site.id = device.site_id`

const filtered = {
  model: column(sql`device.model`),
  site_id: column(sql`device.site_id`),
  site_name: column(sql`site.name`),
}

/** Installers of single sites also see unassigned devices that were claimed lately: they have them in their hands. */
function reached({ scope, reach }: Installer): RawBuilder<unknown> {
  const claimedLately = sql`device.created_at >= ${reach.claimedSince}`
  const ofScope = inSites(scope, sql`device.site_id`)
  return sql`device.org_id = ${scope.orgId} and (
    (${ofScope} and ${reach.allDevices ? sql`true` : claimedLately}) or (device.site_id is null and ${claimedLately}))`
}

/** Lists devices by MAC. Details are read only for the devices of the page. */
export function listInstallerDevices(
  reader: Reader,
  installer: Installer,
  { conditions, page }: { readonly conditions: Conditions<typeof installerDeviceFilters>; readonly page: Page },
): Promise<Paged<InstallerDevice>> {
  const passed = allHold(conditionsOn<typeof installerDeviceFilters>(filtered, conditions))
  const tables = conditions.site_name === undefined ? sql`device` : devicesWithSite
  const hits = sql`${tables} where ${reached(installer)} and ${passed}`
  return pageOf<InstallerDevice>(
    reader,
    {
      hits: sql`select device.id from ${hits}`,
      rows: sql`select device.id, ${columns} from ${devicesOnPage(installer.scope, sql`page.id`)}
        left join site on site.org_id = device.org_id and site.id = device.site_id`,
      sizes: sizesOfDevices(installer.scope),
    },
    page,
  )
}

/** @param mac In lower case without separators. */
export async function findInstallerDevice(
  reader: Reader,
  installer: Installer,
  mac: string,
): Promise<InstallerDevice | undefined> {
  const { rows } = await sql<InstallerDevice>`
    ${devices} where ${reached(installer)} and device.mac = ${mac}`.execute(reader)
  return rows[0]
}

/** Does the same as findInstallerDevice(), and returns the hardware too. */
export async function findInstallerChassis(
  reader: Reader,
  installer: Installer,
  mac: string,
): Promise<InstallerChassis | undefined> {
  const { rows } = await sql<InstallerChassis>`
    select device.id, ${columns}, known.hardware
    from device left join site on site.org_id = device.org_id and site.id = device.site_id
      left join device_status status on status.org_id = device.org_id and status.device_id = device.id
      left join device_hardware known on known.org_id = device.org_id and known.device_id = device.id
    where ${reached(installer)} and device.mac = ${mac}`.execute(reader)
  return rows[0]
}

/** Does the same as findInstallerDevice(), and locks the device against other changes until `tx` ends. */
export async function lockInstallerDevice(
  tx: Tx,
  installer: Installer,
  mac: string,
): Promise<InstallerDevice | undefined> {
  const { rows } = await sql<InstallerDevice>`
    ${devices} where ${reached(installer)} and device.mac = ${mac} for update of device`.execute(tx)
  return rows[0]
}
