import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import type { Sizes } from '../http/lists/store-bounds.ts'
import type { Group } from '../http/lists/store-groups.ts'
import { type List, pageOf } from '../http/lists/store-pages.ts'
import type { Reader } from '../platform/database/db.ts'
import { type DeviceColumn, type DeviceGroup, deviceFields } from './store-fields.ts'
import { withKnownValues } from './store-known.ts'
import { fewDevicesFrom, lengthOf, matchesAlone } from './store-lengths.ts'
import {
  type DeviceFilter,
  type MoreOfDevices,
  allOf,
  alsoOnPage,
  chassisFor,
  devicesFor,
  devicesOnPage,
  isOfOneSite,
  isOnlyOn,
  passes,
} from './store-lists.ts'

export interface DeviceSort {
  readonly by: DeviceColumn
  readonly direction: 'asc' | 'desc'
}

export const byMac: DeviceSort = { by: deviceFields.mac, direction: 'asc' }

export interface DeviceList {
  readonly filter: DeviceFilter
  readonly sort: DeviceSort
  readonly page: Page
  /** The columns of `device`, `status` and `site` that form a row; the ids and the sorted column are added. */
  readonly columns: RawBuilder<unknown>
  readonly sizes: Sizes | null
  /** The joined tables that `columns` also names: `known` (device_report), `summary` (device_summary) or `own` (device_upgrade). */
  readonly also?: readonly MoreOfDevices[]
}

/** Reads one page of devices, and only the page if the counters know the length of the list. */
export async function pageOfDevices<T extends object>(
  reader: Reader,
  scope: SitesScope,
  { filter: given, sort, page, columns, sizes, also = [] }: DeviceList,
): Promise<Paged<T>> {
  const { by } = sort
  const filter = await withKnownValues(reader, scope, given)
  const needs = [...filter.needs, by.of]
  const tables = devicesFor(needs, { oneByOne: isOfOneSite(scope, filter) })
  const few = fewDevicesFrom(scope, filter, needs)
  const length = lengthOf(scope, filter)
  const groups = length.reading === 'gathered' ? null : groupsOf(scope, filter, sort)
  const inIdOrder = by === deviceFields.mac
  // A sort by null would fail, because PostgreSQL takes a constant for the position of a column.
  const sorted = inIdOrder ? sql`` : sql`, ${by.value} as sorted`
  const kept = groups === null ? (inIdOrder ? sql`` : sql`, page.sorted`) : sql`, page.place`
  return pageOf<T>(
    reader,
    {
      hits: sql`select device.id ${sorted} from ${tables} where ${passes(scope, filter)}`,
      order: inIdOrder ? ['id'] : ['sorted', 'id'],
      ...orderOf(sort),
      ...(groups !== null && { groups }),
      ...length,
      ...(few !== null && { gather: sql`select device.id ${sorted} from ${few}` }),
      rows: sql`select device.id ${kept}, ${columns}
      from ${devicesOnPage(scope, sql`page.id`)}
        left join site on site.org_id = device.org_id and site.id = device.site_id
        ${sql.join(
          also.map((name) => alsoOnPage(scope, name)),
          sql` `,
        )}`,
      sizes,
    },
    page,
  )
}

function orderOf({ by, direction }: DeviceSort): Required<Pick<List, 'direction' | 'nullsLast' | 'byBytes'>> {
  const opposite = direction === 'asc' ? 'desc' : 'asc'
  return {
    direction: by.falls === true ? opposite : direction,
    nullsLast: by.always !== true,
    byBytes: by.byBytes === true,
  }
}

/**
 * The groups in which a list can be read in the order of indexes: devices with a value, then those without one. Null if
 * one index has all of them in their order, or if the devices are those of one site, and few.
 */
function groupsOf(scope: SitesScope, filter: DeviceFilter, { by, direction }: DeviceSort): Group[] | null {
  const isOfOneIndex = by.groups === undefined && by.of === undefined && by.always === true
  if ((isOfOneIndex && filter.more.length === 0) || isOfOneSite(scope, filter)) return null
  const groups = by.groups ?? groupsByValue(by)
  const ordered = direction === 'asc' ? groups : groups.toReversed()
  const placed = [
    ...ordered.filter(({ isLast }) => isLast !== true),
    ...ordered.filter(({ isLast }) => isLast === true),
  ]
  const isExact = filter.more.length === 0 || isOnlyOn(filter, by)
  return placed.map((group) => ({
    hits: hitsOf(scope, filter, { by, group }),
    isSorted: group.by !== undefined,
    among: isExact || group.isChassis === true ? null : candidatesOf(scope, filter, { by, group }),
  }))
}

function groupsByValue(by: DeviceColumn): DeviceGroup[] {
  if (by === deviceFields.mac) return [{ where: sql`true` }]
  const { value, always } = by
  const valued = { where: sql`${value} is not null`, by: value }
  return always === true ? [valued] : [valued, { where: sql`${value} is null`, isLast: true }]
}

interface Sorted {
  readonly by: DeviceColumn
  readonly group: DeviceGroup
}

function hitsOf(scope: SitesScope, filter: DeviceFilter, { by, group }: Sorted): RawBuilder<unknown> {
  const sorted = group.by === undefined ? sql`` : sql`, ${group.by} as sorted`
  const hasRows = group.isLast !== true && group.isAbsent !== true
  const alone = by.of === undefined || !hasRows ? null : matchesAlone(scope, filter, by.of)
  if (by.of !== undefined && alone !== null)
    return sql`select ${sql.ref(by.of)}.device_id as id ${sorted} from ${alone} and ${group.where}`
  const where = allOf([passes(scope, filter), group.where])
  const needs = [...filter.needs, by.of]
  const tables = group.isChassis === true ? chassisFor(scope, needs) : devicesFor(needs)
  return sql`select device.id ${sorted} from ${tables} where ${where}`
}

/** The devices that the index of the sort has, whether they match or not, and those of them that match. */
function candidatesOf(scope: SitesScope, filter: DeviceFilter, sorted: Sorted): NonNullable<Group['among']> {
  const unfiltered = { ...filter, more: [], needs: [], on: [], optional: [], compared: [] }
  const device = filter.on.includes('device')
    ? sql`select * from device where device.org_id = ${scope.orgId} and device.id = candidate.id offset 0`
    : sql`select ${scope.orgId}::uuid as org_id, candidate.id`
  return {
    candidates: hitsOf(scope, unfiltered, sorted),
    matching: sql`cross join lateral (${device}
      ) as ${devicesFor(filter.needs, { oneByOne: true })} where ${allOf(filter.more)}`,
  }
}
