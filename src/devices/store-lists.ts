import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Condition, Conditions, Filters } from '../http/lists/filters.ts'
import { MAX_LIMIT } from '../http/lists/lists.ts'
import { type Sizes, largeOf } from '../http/lists/store-bounds.ts'
import { column, conditionOn, conditionsOn, unreported } from '../http/lists/store-filters.ts'
import { type DeviceColumn, type DeviceFields, type Joined, deviceFields, hasMembers } from './store-fields.ts'

/** The filters of a list of devices. */
export interface DeviceFilter {
  /**
   * Conditions on the columns by which devices are counted in advance. If there are no others, the length of the list
   * is known without reading it.
   */
  readonly counted: CountedConditions
  readonly onlyUnassigned: boolean
  /** Conditions on `device`, and on the joined tables that it needs. */
  readonly more: readonly RawBuilder<unknown>[]
  readonly needs: readonly Joined[]
  /** The tables that they are on and that have a row for each device that passes. */
  readonly on: readonly ('device' | Joined)[]
  /** The other tables that they are on: devices that pass may have no row there. */
  readonly optional: readonly Joined[]
  /** The comparisons of the first conditions in `more`, in their order. */
  readonly compared: readonly Comparison[]
}

export interface Comparison {
  readonly column: DeviceColumn | typeof unreported
  readonly condition: Condition
}

type CountedName = 'site_id' | 'type' | 'model'

export const inCounters: Readonly<Record<CountedName, DeviceColumn>> = {
  type: deviceFields.type,
  model: deviceFields.model,
  site_id: deviceFields.site_id,
}

export type CountedConditions = { readonly [Name in CountedName]?: Condition }

export const everyDevice: DeviceFilter = {
  counted: {},
  onlyUnassigned: false,
  more: [],
  needs: [],
  on: [],
  optional: [],
  compared: [],
}

/** Splits the conditions of a query into those that the counters know and others. */
export function deviceFilterOf<F extends Filters>(fields: DeviceFields<F>, conditions: Conditions<F>): DeviceFilter {
  const given = Object.entries<Condition | undefined>(conditions)
  const others = given.flatMap(([name, condition]) =>
    name in inCounters || condition === undefined ? [] : [{ column: fields[name] ?? unreported, condition }],
  )
  return {
    counted: Object.fromEntries(given.filter(([name]) => name in inCounters)),
    onlyUnassigned: false,
    more: others.map(({ column: on, condition }) => conditionOn(on, condition)),
    needs: others.flatMap(({ column: on }) => on?.of ?? []),
    on: distinct(others.filter((other) => !passesAbsent(other)).map(({ column: on }) => on?.of ?? 'device')),
    optional: distinct(others.filter(passesAbsent).flatMap(({ column: on }) => on?.of ?? [])),
    compared: others,
  }
}

/** True if devices without a row in the joined table may pass. */
function passesAbsent({ column: on, condition }: Comparison): boolean {
  if (on?.absent === undefined) return false
  return !('values' in condition) || condition.patterns.length > 0 || condition.values.includes(on.absent)
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}

/** Adds conditions to those of a filter. @param needs The joined tables that they are on. */
export function alsoPassing(
  filter: DeviceFilter,
  more: readonly RawBuilder<unknown>[],
  { needs = [] }: { readonly needs?: readonly Joined[] } = {},
): DeviceFilter {
  if (more.length === 0) return filter
  const on = distinct([...filter.on, ...(needs.length === 0 ? ['device' as const] : needs)])
  return { ...filter, more: [...filter.more, ...more], needs: [...filter.needs, ...needs], on }
}

/** Rows are missing for a device that never connected, and in `disconnection` for one that is connected. */
export const tablesOf: Readonly<Record<Joined, RawBuilder<unknown>>> = {
  status: sql`device_status`,
  disconnection: sql`device_disconnection`,
  version: sql`device_version`,
  fact: sql`device_fact`,
  summary: sql`device_summary`,
  hardware: sql`device_hardware`,
}

/**
 * The tables of a list: PostgreSQL can merge ordered lists of one table each, but not of joins.
 * @param oneByOne Looks the rows of joined tables up for each device, for a list of few devices: PostgreSQL would
 * otherwise read the whole table for a thousand of them.
 */
export function devicesFor(needs: readonly (Joined | undefined)[], { oneByOne = false } = {}): RawBuilder<unknown> {
  const tables = [...new Set(needs)].flatMap((name) => {
    if (name === undefined) return []
    const alias = sql.ref(name)
    const same = sql`${alias}.org_id = device.org_id and ${alias}.device_id = device.id`
    if (!oneByOne) return [sql`left join ${tablesOf[name]} ${alias} on ${same}`]
    return [sql`left join lateral (select * from ${tablesOf[name]} ${alias} where ${same} offset 0) ${alias} on true`]
  })
  return sql.join([sql`device`, ...tables], sql` `)
}

export const devicesWithStatus = devicesFor(['status'])

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

const moreOfDevices = { known: sql`device_report`, summary: sql`device_summary`, own: sql`device_upgrade` } as const

/** The tables that can be joined to the devices on a page. */
export type MoreOfDevices = keyof typeof moreOfDevices

/** Joins another table to the devices on a page, also row by row. */
export function alsoOnPage({ orgId }: InOrg, name: MoreOfDevices): RawBuilder<unknown> {
  return sql`left join lateral (
      select * from ${moreOfDevices[name]} as last where last.org_id = ${orgId} and last.device_id = device.id offset 0
    ) as ${sql.ref(name)} on true`
}

/** SQL condition on a row of `device` or `device_count`, under the name `of`: the scope and the filter include it. */
export function counted(
  scope: SitesScope,
  of: 'device' | 'device_count',
  { counted: conditions, onlyUnassigned }: Pick<DeviceFilter, 'counted' | 'onlyUnassigned'>,
): RawBuilder<unknown> {
  const named = (name: string): RawBuilder<unknown> => sql.ref(`${of}.${name}`)
  const columns = { site_id: column(named('site_id')), type: column(named('type')), model: column(named('model')) }
  return allOf([
    sql`${named('org_id')} = ${scope.orgId}`,
    inSites(scope, named('site_id')),
    ...conditionsOn(columns, conditions),
    ...(onlyUnassigned ? [sql`${named('site_id')} is null`] : []),
  ])
}

/** SQL condition on `device` and `status`: the scope and the filter include the device. */
export function passes(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> {
  return allOf([counted(scope, 'device', filter), ...filter.more])
}

export function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([...conditions], sql` and `)
}

/** True if all conditions are on one column: the index of a sort by it then has exactly the hits, in its order. */
export function isOnlyOn({ more, compared }: DeviceFilter, by: DeviceColumn): boolean {
  return compared.length === more.length && compared.every(({ column: on }) => on === by)
}

/** True if the list is limited to one site, which has few of the devices of a large organization. */
export function isOfOneSite(scope: SitesScope, { counted: { site_id: site } }: DeviceFilter): boolean {
  if (scope.siteIds !== 'all') return scope.siteIds.length === 1
  return site !== undefined && 'values' in site && site.values.length === 1
}

/** The few devices that are a Virtual Chassis: only their status contains members. */
export const isChassis = hasMembers

/** The tables of a list of Virtual Chassis, one by one: PostgreSQL can't know how few they are, and would read every device. */
export function chassisFor({ orgId }: InOrg, needs: readonly (Joined | undefined)[]): RawBuilder<unknown> {
  const others = needs.filter((name) => name !== 'status')
  return sql`(select * from device_status status where status.org_id = ${orgId} and ${isChassis} offset 0) as status
    cross join lateral (
      select * from device where device.org_id = status.org_id and device.id = status.device_id offset 0
    ) as ${devicesFor(others, { oneByOne: true })}`
}

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

/** Documents of up to this size have no entry in the index of the large ones; likewise reports. */
const [SMALL_DOC_BYTES, SMALL_REPORT_BYTES] = [1024, 2048]

/**
 * The sizes of lists that return documents and reports of devices. As if the largest documents and the largest reports
 * were of the same devices: finding out whether they are would read all devices of the organization.
 */
export function sizesOfStats({ orgId }: InOrg): Sizes {
  const largest = (bytes: RawBuilder<unknown>, of: RawBuilder<unknown>, small: number): RawBuilder<unknown> =>
    sql`select ${bytes} as bytes, row_number() over (order by ${bytes} desc) as place from ${of}
      where org_id = ${orgId} and ${bytes} > ${sql.lit(small)} order by ${bytes} desc limit ${MAX_LIMIT}`
  return {
    query: sql`select coalesce(doc.bytes, ${SMALL_DOC_BYTES}) + coalesce(report.bytes, ${SMALL_REPORT_BYTES}) as bytes
      from (${largest(sql`doc_bytes`, sql`device`, SMALL_DOC_BYTES)}) as doc
      full join (${largest(sql`report_bytes`, sql`device_summary`, SMALL_REPORT_BYTES)}) as report using (place)`,
    smallBytes: SMALL_DOC_BYTES + SMALL_REPORT_BYTES,
  }
}
