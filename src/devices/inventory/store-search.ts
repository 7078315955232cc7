import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { Condition, Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort } from '../../http/lists/search.ts'
import { conditionOn } from '../../http/lists/store-filters.ts'
import type { Reader } from '../../platform/database/db.ts'
import { countDevicesBy } from '../store-counts.ts'
import { deviceFields } from '../store-fields.ts'
import { pageOfDevices } from '../store-device-pages.ts'
import { alsoPassing, deviceFilterOf, isChassis, sizesOfChassis } from '../store-lists.ts'
import type { VcMember } from '../tables.ts'
import type { countFilters, counts, masterFilters, otherFilters, searchFilters, searchSorts } from './filters.ts'

export interface InventorySearch {
  readonly conditions: Conditions<typeof searchFilters>
  /** Conditions on the MAC of a Virtual Chassis. */
  readonly chassis: Conditions<typeof masterFilters>
  readonly other: Conditions<typeof otherFilters>
  readonly sort: Sort<(typeof searchSorts)[number]>
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
  readonly sku: string | null
}

export function searchInventory(
  reader: Reader,
  scope: SitesScope,
  { conditions, chassis, other, sort, page }: InventorySearch & { readonly page: Page },
): Promise<Paged<InventoryHit>> {
  const filter = alsoPassing(deviceFilterOf(deviceFields, conditions), textIn(other.text))
  return pageOfDevices<InventoryHit>(reader, scope, {
    filter: alsoPassing(filter, [...ofChassis(chassis), ...isMaster(other.master)], { needs: ['status'] }),
    sort: { by: deviceFields[sort.by], direction: sort.direction },
    page,
    columns: sql`device.org_id, device.site_id, device.type, device.mac, device.model, device.serial, device.name,
      status.firmware, status.connected, status.members,
      (select known.sku from device_hardware known
        where known.org_id = device.org_id and known.device_id = device.id) as sku`,
    sizes: sizesOfChassis(scope),
  })
}

function textIn(text: Condition | undefined): RawBuilder<unknown>[] {
  if (text === undefined) return []
  const { name, mac, serial, model } = deviceFields
  const plainMac = { value: mac.value }
  return [
    sql`(${sql.join(
      [name, plainMac, serial, model].map((of) => conditionOn(of, text)),
      sql` or `,
    )})`,
  ]
}

function ofChassis(conditions: Conditions<typeof masterFilters>): RawBuilder<unknown>[] {
  const macs = Object.values(conditions).map((condition) => conditionOn(deviceFields.mac, condition))
  return macs.length === 0 ? [] : [...macs, isChassis]
}

function isMaster(master: Condition | undefined): RawBuilder<unknown>[] {
  if (master === undefined || !('values' in master)) return []
  const either = master.values.map((value) => (value === true ? isChassis : sql`(${isChassis}) is not true`))
  return [either.length === 0 ? sql`false` : sql`(${sql.join(either, sql` or `)})`]
}

export interface InventoryCount extends Page {
  readonly conditions: Conditions<typeof countFilters>
  readonly distinct: (typeof counts)[number]
}

export function countInventory(
  reader: Reader,
  scope: SitesScope,
  { conditions, distinct, limit, page }: InventoryCount,
): Promise<Counts> {
  const filter = deviceFilterOf(deviceFields, conditions)
  return countDevicesBy(reader, scope, { filter, field: deviceFields[distinct], limit, page })
}
