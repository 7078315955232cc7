import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists.ts'
import type { Counts } from '../http/search.ts'
import { type Sizes, largeOf } from '../http/store-bounds.ts'
import { countsOf, pageOf } from '../http/store-pages.ts'
import type { Reader } from '../platform/db.ts'
import type { DeviceType } from '../events/device-type.ts'

/** The filters of a list of devices. Null matches everything. */
export interface DeviceFilter {
  readonly siteId: string | null
  readonly onlyUnassigned: boolean
  readonly type: DeviceType | null
  readonly model: string | null
  /**
   * Conditions on columns of `device` and `status` (device_status). Without any, the length of the list is known
   * without reading it.
   */
  readonly more: readonly RawBuilder<unknown>[]
}

export const everyDevice: DeviceFilter = { siteId: null, onlyUnassigned: false, type: null, model: null, more: [] }

/** By `id` devices are in the order of their MACs; `modified_at` is the time of their last change. */
export interface DeviceSort {
  readonly by: 'id' | 'modified_at' | 'name' | 'model' | 'site_id' | 'serial'
  readonly direction: 'asc' | 'desc'
}

export const byMac: DeviceSort = { by: 'id', direction: 'asc' }

/** Devices with their status, which is missing for a device that never connected. */
export const devicesWithStatus = sql`
  device left join device_status status on status.org_id = device.org_id and status.device_id = device.id`

/**
 * The tables that the condition of `passes` needs: PostgreSQL can merge ordered lists of one table each, but not of
 * joins.
 */
export function devicesFor({ more }: DeviceFilter): RawBuilder<unknown> {
  return more.length === 0 ? sql`device` : devicesWithStatus
}

/**
 * The devices of `page`, a list of keys, with their status. They are read row by row, because PostgreSQL does not know
 * how short a page is and would otherwise read everything.
 */
export function devicesOnPage({ orgId }: InOrg, key: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`page
    cross join lateral (select * from device where device.org_id = ${orgId} and device.id = ${key} offset 0) as device
    left join lateral (
      select * from device_status where device_status.org_id = ${orgId} and device_status.device_id = device.id offset 0
    ) as status on true`
}

/** SQL condition on a row of `device` or `device_count`, under the name `of`: the scope and the filter include it. */
function counted(scope: SitesScope, of: 'device' | 'device_count', filter: DeviceFilter): RawBuilder<unknown> {
  const column = (name: string): RawBuilder<unknown> => sql.ref(`${of}.${name}`)
  const { siteId, onlyUnassigned, type, model } = filter
  return allOf([
    sql`${column('org_id')} = ${scope.orgId}`,
    inSites(scope, column('site_id')),
    ...(siteId === null ? [] : [sql`${column('site_id')} = ${siteId}`]),
    ...(onlyUnassigned ? [sql`${column('site_id')} is null`] : []),
    ...(type === null ? [] : [sql`${column('type')} = ${type}`]),
    ...(model === null ? [] : [sql`${column('model')} = ${model}`]),
  ])
}

/** SQL condition on `device` and `status`: the scope and the filter include the device. */
export function passes(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> {
  return allOf([counted(scope, 'device', filter), ...filter.more])
}

export function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([...conditions], sql` and `)
}

/** Returns the number of devices that match, as an expression for pageOf(). */
export function lengthOf(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> {
  if (filter.more.length > 0) return sql`select count(*) from hits`
  return sql`select coalesce(sum(count), 0) from device_count where ${counted(scope, 'device_count', filter)}`
}

export interface DeviceList {
  readonly filter: DeviceFilter
  readonly sort: DeviceSort
  readonly page: Page
  /** The columns of `device`, `status` and `site` that form a row; the ids and the sorted column are added. */
  readonly columns: RawBuilder<unknown>
  readonly sizes: Sizes | null
}

/** Reads one page of devices in one query, which reads only the page if `filter.more` is empty. */
export function pageOfDevices<T extends object>(
  reader: Reader,
  scope: SitesScope,
  { filter, sort, page, columns, sizes }: DeviceList,
): Promise<Paged<T>> {
  const sorted = sql.ref(`device.${sort.by}`)
  return pageOf<T>(
    reader,
    {
      hits: sql`select device.id, ${sorted} as sorted from ${devicesFor(filter)} where ${passes(scope, filter)}`,
      order: sort.by === 'id' ? ['id'] : ['sorted', 'id'],
      direction: sort.direction,
      total: lengthOf(scope, filter),
      rows: sql`select device.id, ${sorted} as sorted, ${columns}
      from ${devicesOnPage(scope, sql`page.id`)}
        left join site on site.org_id = device.org_id and site.id = device.site_id`,
      sizes,
    },
    page,
  )
}

/** The few devices that are a Virtual Chassis: only their status contains members. */
export const isChassis = sql`jsonb_array_length(status.members) > 1`

/**
 * The sizes of lists that return documents of devices. An index contains those of the organization, independently of
 * the requested devices.
 */
export function sizesOfDevices({ orgId }: InOrg): Sizes {
  return largeOf(sql`device`, sql`device.doc_bytes`, { where: sql`device.org_id = ${orgId}` })
}

/** The sizes of lists that return the members of Virtual Chassis, for which the gateway allows ten kilobytes. */
export function sizesOfChassis({ orgId }: InOrg): Sizes {
  const where = sql`status.org_id = ${orgId} and ${isChassis}`
  return largeOf(sql`device_status status`, sql`octet_length(status.members::text)`, { where })
}

/** The fields by which devices are counted. The first three are known without reading the devices. */
export type CountedField = 'type' | 'model' | 'site_id' | 'name' | 'mac' | 'map_id' | 'version' | 'ip' | 'status'

const countedFields: Readonly<Record<CountedField, RawBuilder<unknown>>> = {
  type: sql`device.type`,
  model: sql`device.model`,
  site_id: sql`device.site_id`,
  name: sql`device.name`,
  mac: sql`device.mac`,
  map_id: sql`device.doc ->> 'map_id'`,
  version: sql`status.firmware`,
  ip: sql`status.load ->> 'ip'`,
  status: sql`case when status.connected then 'connected' else 'disconnected' end`,
}

const inCounters: ReadonlySet<CountedField> = new Set(['type', 'model', 'site_id'])

/** Counts the devices for each value of `field`, the most frequent first. */
export async function countDevicesBy(
  reader: Reader,
  scope: SitesScope,
  { filter, field, limit }: { readonly filter: DeviceFilter; readonly field: CountedField; readonly limit: number },
): Promise<Counts> {
  if (filter.more.length === 0 && inCounters.has(field)) {
    const hits = sql`select * from device_count where ${counted(scope, 'device_count', filter)}`
    return countsOf(reader, hits, { field: sql`hit.${sql.ref(field)}`, limit, weight: sql`hit.count` })
  }
  const hits = sql`select ${countedFields[field]} as value from ${devicesWithStatus} where ${passes(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit })
}

/** Counts the devices of each type, with and without a site. */
export async function countTypes(
  reader: Reader,
  scope: SitesScope,
): Promise<{ type: DeviceType; assigned: boolean; count: number }[]> {
  const { rows } = await sql<{ type: DeviceType; assigned: boolean; count: string }>`
    select type, site_id is not null as assigned, sum(count) as count
    from device_count where ${counted(scope, 'device_count', everyDevice)} group by 1, 2
  `.execute(reader)
  return rows.map(({ type, assigned, count }) => ({ type, assigned, count: Number(count) }))
}
