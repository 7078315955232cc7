import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort } from '../../http/lists/search.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import type { Reader } from '../../platform/database/db.ts'
import { deviceFields } from '../store-fields.ts'
import { summaryFields } from './filters.ts'
import { countDevicesBy } from '../store-counts.ts'
import { pageOfDevices } from '../store-device-pages.ts'
import { alsoPassing, deviceFilterOf } from '../store-lists.ts'
import type {
  orgCountFilters,
  orgCounts,
  orgSearchFilters,
  searchSorts,
  siteCountFilters,
  siteCounts,
} from './filters.ts'

export interface DeviceSearch {
  /** The filters of an organization's search include those of a site's. */
  readonly conditions: Conditions<typeof orgSearchFilters>
  /** Devices that were claimed later don't match; null means that all do. */
  readonly createdUntil: Date | null
  readonly sort: Sort<(typeof searchSorts)[number]>
}

export interface DeviceHit {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly type: DeviceType
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly name: string | null
  readonly modifiedAt: Date
  readonly connected: boolean | null
  readonly firmware: string | null
  readonly bootedAt: Date | null
  readonly lastSeenAt: Date | null
  readonly extIp: string | null
  /** As the device reported it. */
  readonly ip: unknown
  readonly numMembers: number | null
  readonly managed: boolean | null
  /** The values of `summaryFields`, in their order; null if the device has reported none. */
  readonly summary: readonly (string | number | null)[]
}

// An array of values takes a fifth of the time of an object with their names.
const shownSummary = sql`json_build_array(${sql.join(summaryFields.map((name) => deviceFields[name].value))})`

/** Searches the current state of devices. */
export function searchDevices(
  reader: Reader,
  scope: SitesScope,
  { conditions, createdUntil, sort, page }: DeviceSearch & { readonly page: Page },
): Promise<Paged<DeviceHit>> {
  const filter = deviceFilterOf(deviceFields, conditions)
  return pageOfDevices<DeviceHit>(reader, scope, {
    filter: alsoPassing(filter, createdBy(createdUntil)),
    // No device reports such a field: all are equal, and sorted by id.
    sort: { by: deviceFields[sort.by] ?? deviceFields.mac, direction: sort.direction },
    page,
    columns: sql`device.org_id, device.site_id, device.type, device.mac, device.serial, device.model, device.name,
      device.modified_at, status.connected, status.firmware, status.booted_at, status.last_seen_at, status.ext_ip,
      status.load -> 'ip' as ip, jsonb_array_length(status.members) as num_members, device.doc -> 'managed' = 'true' as managed,
      ${shownSummary} as summary`,
    also: ['summary'],
    sizes: smallRows,
  })
}

export interface DeviceCount extends Page {
  readonly conditions: Conditions<typeof orgCountFilters & typeof siteCountFilters>
  readonly createdUntil: Date | null
  readonly distinct: (typeof orgCounts | typeof siteCounts)[number]
}

export function countDevices(
  reader: Reader,
  scope: SitesScope,
  { conditions, createdUntil, distinct, limit, page }: DeviceCount,
): Promise<Counts> {
  const filter = alsoPassing(deviceFilterOf(deviceFields, conditions), createdBy(createdUntil))
  return countDevicesBy(reader, scope, { filter, field: deviceFields[distinct], limit, page })
}

function createdBy(until: Date | null): RawBuilder<unknown>[] {
  return until === null ? [] : [sql`device.created_at <= ${until}`]
}
