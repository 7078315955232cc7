import { type RawBuilder, sql } from 'kysely'
import type { SiteScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Condition, Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { column, conditionOn, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { siteDeviceFilters } from '../filters.ts'
import type { HardwareUnit } from '../hardware/hardware.ts'
import { type Device, deviceColumns } from '../store.ts'
import type { inventoryFilters } from './filters.ts'
import { deviceFields, ssrOf } from '../store-fields.ts'
import { withKnownValues } from '../store-known.ts'
import { byMac, pageOfDevices } from '../store-device-pages.ts'
import { lengthOf } from '../store-lengths.ts'
import {
  type DeviceFilter,
  allOf,
  alsoPassing,
  deviceFilterOf,
  chassisFor,
  devicesFor,
  devicesOnPage,
  isChassis,
  passes,
  sizesOfDevices,
} from '../store-lists.ts'

/** A device of the inventory, or a member of a Virtual Chassis that has no device entry. */
export interface InventoryItem {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: DeviceType
  readonly name: string | null
  /** Null for a member: it was claimed with its Virtual Chassis. */
  readonly claimCode: string | null
  readonly deviceprofileId: string | null
  readonly createdAt: Date
  readonly modifiedAt: Date
  readonly connected: boolean
  readonly disconnectedAt: Date | null
  /** MAC of the Virtual Chassis it is a member of. */
  readonly vcMac: string | null
  /** Null for a member, and for a device that did not report its hardware. */
  readonly unit: HardwareUnit | null
}

export interface InventoryFilter {
  readonly conditions: Conditions<typeof inventoryFilters>
  /** A condition on the MAC of a Virtual Chassis, whose members are listed too; null: every device. */
  readonly vcMac: Condition | null
  /** Lists the members of Virtual Chassis too. */
  readonly withMembers: boolean
  readonly onlyUnassigned: boolean
}

/** Lists the inventory by MAC. */
export async function listInventory(
  reader: Reader,
  scope: SitesScope,
  { filter, page }: { readonly filter: InventoryFilter; readonly page: Page },
): Promise<Paged<InventoryItem>> {
  const devices = await withKnownValues(reader, scope, devicesOf(filter))
  const own = sql`select device.id, null::uuid as chassis_id, null::jsonb as member
    from ${devicesFor(devices.needs)} where ${passes(scope, devices)}`
  const withMembers = filter.withMembers || filter.vcMac !== null
  return pageOf<InventoryItem>(
    reader,
    {
      hits: own,
      ...lengthOf(scope, devices),
      ...(withMembers && { few: membersOf(scope, filter) }),
      rows: sql`select page.id, device.org_id, device.site_id, coalesce(page.member ->> 'mac', device.mac) as mac,
          coalesce(page.member ->> 'serial', device.serial) as serial,
          coalesce(page.member ->> 'model', device.model) as model, device.type, device.created_at, device.modified_at,
          case when page.member is null then device.name end as name,
          case when page.member is null then device.claim_code end as claim_code,
          case when page.member is null then left(device.doc ->> 'deviceprofile_id', 100) end as deviceprofile_id,
          coalesce(status.connected, false) as connected, status.disconnected_at,
          case when ${isChassis} then device.mac end as vc_mac,
          case when page.member is null then (
            select known.hardware -> 'unit' from device_hardware known
            where known.org_id = device.org_id and known.device_id = device.id
          ) end as unit
        from ${devicesOnPage(scope, sql`coalesce(page.chassis_id, page.id)`)}`,
      sizes: smallRows,
    },
    page,
  )
}

/** Translates the filter into one of devices. */
function devicesOf({ conditions, vcMac, onlyUnassigned }: InventoryFilter): DeviceFilter {
  const ofChassis = vcMac === null ? [] : [conditionOn(deviceFields.mac, vcMac), isChassis]
  const filter = { ...deviceFilterOf(deviceFields, conditions), onlyUnassigned }
  return alsoPassing(filter, ofChassis, { needs: ['status'] })
}

const memberFields = {
  serial: column(sql`member ->> 'serial'`),
  model: column(sql`member ->> 'model'`),
  mac: column(sql`member ->> 'mac'`),
  ssr: ssrOf(sql`member ->> 'model'`),
}

/**
 * Selects keys of members without a device entry. Shared fields are taken from their chassis. A member that has moved,
 * and that its former chassis still names, belongs to the connected chassis. Members whose MAC the device does not
 * report have no id and are not listed.
 */
function membersOf(scope: SitesScope, { conditions, vcMac, onlyUnassigned }: InventoryFilter): RawBuilder<unknown> {
  const { serial, model, mac, ssr, ...shared } = conditions
  const ofChassis = alsoPassing(
    { ...deviceFilterOf(deviceFields, shared), onlyUnassigned },
    vcMac === null ? [] : [conditionOn(deviceFields.mac, vcMac)],
  )
  const ofMember = [
    sql`member ->> 'mac' <> ''`,
    sql`(select count(*) from device own where own.org_id = device.org_id and own.mac = member ->> 'mac') = 0`,
    ...conditionsOn(memberFields, {
      ...(serial !== undefined && { serial }),
      ...(model !== undefined && { model }),
      ...(mac !== undefined && { mac }),
      ...(ssr !== undefined && { ssr }),
    }),
  ]
  return sql`select distinct on (id) ('00000000-0000-0000-1000-' || (member ->> 'mac'))::uuid as id,
      device.id as chassis_id, member
    from ${chassisFor(scope, ofChassis.needs)} cross join lateral jsonb_array_elements(status.members) as member
    where ${allOf([passes(scope, ofChassis), ...ofMember])}
    order by id, status.connected desc, status.last_seen_at desc nulls last, chassis_id`
}

/** Lists MAC and name of all devices by MAC; the interface has no pages here. */
export function listDeviceNames(reader: Reader, scope: SitesScope): Promise<{ mac: string; name: string | null }[]> {
  return reader
    .selectFrom('device')
    .select(['mac', 'name'])
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('device.site_id')))
    .orderBy('id')
    .execute()
}

/** Lists devices by MAC. */
export function listSiteDevices(
  reader: Reader,
  scope: SiteScope,
  { conditions, page }: { readonly conditions: Conditions<typeof siteDeviceFilters>; readonly page: Page },
): Promise<Paged<Device>> {
  return pageOfDevices<Device>(reader, scope, {
    filter: deviceFilterOf(deviceFields, conditions),
    sort: byMac,
    page,
    columns: deviceColumns,
    sizes: sizesOfDevices(scope),
  })
}
