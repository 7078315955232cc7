import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import type { Counts } from '../../http/search.ts'
import { type Reader, containing } from '../../platform/db.ts'
import type { VcMember } from '../tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import {
  type CountedField,
  type DeviceSort,
  countDevicesBy,
  everyDevice,
  isChassis,
  pageOfDevices,
  sizesOfChassis,
} from '../store-lists.ts'

/** A null admits everything. */
export interface InventorySearchFilter {
  readonly siteId: string | null
  readonly type: DeviceType | null
  readonly model: string | null
  readonly mac: string | null
  readonly serial: string | null
  /** MACs of one Virtual Chassis, which must have all of them. */
  readonly chassisMacs: readonly string[]
  readonly onlyChassis: boolean
  readonly version: string | null
  readonly connected: boolean | null
  /** Part of name, MAC, serial or model, in any case. */
  readonly text: string | null
  /** True for a filter that no device can match. */
  readonly nothing: boolean
}

export interface InventorySearch {
  readonly filter: InventorySearchFilter
  readonly sort: DeviceSort
}

export interface InventoryHit {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly type: DeviceType
  readonly mac: string
  readonly model: string
  readonly serial: string
  readonly name: string | null
  readonly firmware: string | null
  readonly connected: boolean | null
  readonly members: readonly VcMember[] | null
}

export function searchInventory(
  reader: Reader,
  scope: SitesScope,
  { filter, sort, page }: InventorySearch & { readonly page: Page },
): Promise<Paged<InventoryHit>> {
  const { siteId, type, model } = filter
  return pageOfDevices<InventoryHit>(reader, scope, {
    filter: { siteId, onlyUnassigned: false, type, model, more: conditions(filter) },
    sort,
    page,
    columns: sql`device.org_id, device.site_id, device.type, device.mac, device.model, device.serial, device.name,
      status.firmware, status.connected, status.members`,
    sizes: sizesOfChassis(scope),
  })
}

function conditions(filter: InventorySearchFilter): RawBuilder<unknown>[] {
  const { mac, serial, chassisMacs, onlyChassis, version, connected, text, nothing } = filter
  const part = text === null ? null : containing(text)
  return [
    ...(nothing ? [sql`false`] : []),
    ...(mac === null ? [] : [sql`device.mac = ${mac}`]),
    ...(serial === null ? [] : [sql`device.serial = ${serial}`]),
    ...chassisMacs.map((chassisMac) => sql`device.mac = ${chassisMac}`),
    ...(onlyChassis || chassisMacs.length > 0 ? [isChassis] : []),
    ...(version === null ? [] : [sql`status.firmware = ${version}`]),
    ...(connected === null ? [] : [connected ? sql`status.connected` : sql`status.connected is not true`]),
    ...(part === null
      ? []
      : [
          sql`(device.name ilike ${part} or device.mac ilike ${part} or device.serial ilike ${part}
            or device.model ilike ${part})`,
        ]),
  ]
}

export interface InventoryCount {
  readonly type: DeviceType | null
  /** Null: a field that no device has. */
  readonly field: CountedField | null
  readonly limit: number
}

export async function countInventory(
  reader: Reader,
  scope: SitesScope,
  { type, field, limit }: InventoryCount,
): Promise<Counts> {
  if (field === null) return { rows: [], total: 0 }
  return countDevicesBy(reader, scope, { filter: { ...everyDevice, type }, field, limit })
}
