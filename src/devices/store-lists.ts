import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Condition, Conditions, Filters } from '../http/filters.ts'
import { MAX_LIMIT, type Page, type Paged } from '../http/lists.ts'
import { type Sizes, largeOf } from '../http/store-bounds.ts'
import { column, conditionOn, conditionsOn, unreported } from '../http/store-filters.ts'
import { type List, pageOf } from '../http/store-pages.ts'
import type { Reader } from '../platform/db.ts'
import { type DeviceColumn, type DeviceFields, type Joined, deviceFields, hasMembers } from './store-fields.ts'

/** The filters of a list of devices. */
export interface DeviceFilter {
  /**
   * On the columns by which devices are counted in advance. Without any others, the length of the list is known without
   * reading it.
   */
  readonly counted: CountedConditions
  readonly onlyUnassigned: boolean
  /** Conditions on `device`, and on the joined tables that it needs. */
  readonly more: readonly RawBuilder<unknown>[]
  readonly needs: readonly Joined[]
  /** The one table that all of them are on, which then knows how many devices match; null where there are several. */
  readonly onlyOn: 'device' | Joined | null
}

type CountedName = 'site_id' | 'type' | 'model'

export const inCounters: Readonly<Record<CountedName, DeviceColumn>> = {
  type: deviceFields.type,
  model: deviceFields.model,
  site_id: deviceFields.site_id,
}

export type CountedConditions = { readonly [Name in CountedName]?: Condition }

export const everyDevice: DeviceFilter = { counted: {}, onlyUnassigned: false, more: [], needs: [], onlyOn: 'device' }

export interface DeviceSort {
  readonly by: DeviceColumn
  readonly direction: 'asc' | 'desc'
}

export const byMac: DeviceSort = { by: deviceFields.mac, direction: 'asc' }

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
    onlyOn: onlyOneOf(others.map(({ column: on }) => on?.of ?? 'device')),
  }
}

function onlyOneOf(tables: readonly ('device' | Joined)[]): DeviceFilter['onlyOn'] {
  const [first = 'device', ...others] = new Set(tables)
  return others.length === 0 ? first : null
}

/** Adds conditions to those of a filter. @param needs The joined tables that they are on. */
export function alsoPassing(
  filter: DeviceFilter,
  more: readonly RawBuilder<unknown>[],
  { needs = [] }: { readonly needs?: readonly Joined[] } = {},
): DeviceFilter {
  if (more.length === 0) return filter
  const tables = [
    ...(filter.more.length === 0 ? [] : [filter.onlyOn]),
    ...(needs.length === 0 ? ['device' as const] : needs),
  ]
  const onlyOn = tables.includes(null) ? null : onlyOneOf(tables.filter((table) => table !== null))
  return { ...filter, more: [...filter.more, ...more], needs: [...filter.needs, ...needs], onlyOn }
}

/** Rows are missing for a device that never connected, except in `connection`. */
const joined: Readonly<Record<Joined, RawBuilder<unknown>>> = {
  status: sql`device_status`,
  connection: sql`device_connection`,
  fact: sql`device_fact`,
  summary: sql`device_summary`,
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
    if (!oneByOne) return [sql`left join ${joined[name]} ${alias} on ${same}`]
    return [sql`left join lateral (select * from ${joined[name]} ${alias} where ${same} offset 0) ${alias} on true`]
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

const lastReport = { known: sql`device_report`, summary: sql`device_summary` } as const

/** Joins what the devices of a page reported last, row by row as well. */
function alsoOnPage({ orgId }: InOrg, name: keyof typeof lastReport): RawBuilder<unknown> {
  return sql`left join lateral (
      select * from ${lastReport[name]} as last where last.org_id = ${orgId} and last.device_id = device.id offset 0
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

/**
 * Replaces patterns of models by the models that match, which the counters know. PostgreSQL then knows how many devices
 * a list has, and that most patterns match none of another type.
 */
export async function withKnownModels(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<DeviceFilter> {
  const { model } = filter.counted
  if (model === undefined || !('patterns' in model) || model.patterns.length === 0) return filter
  const { rows } = await sql<{ model: string }>`
    select distinct model from device_count where count > 0 and ${counted(scope, 'device_count', filter)}
  `.execute(reader)
  const known: Condition = { ...model, values: rows.map((row) => row.model), patterns: [] }
  return { ...filter, counted: { ...filter.counted, model: known } }
}

/** SQL condition on `device` and `status`: the scope and the filter include the device. */
export function passes(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> {
  return allOf([counted(scope, 'device', filter), ...filter.more])
}

export function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([...conditions], sql` and `)
}

/** The number of devices that match, and how to read them; for pageOf(). */
export function lengthOf(scope: SitesScope, filter: DeviceFilter): Pick<List, 'total' | 'reading'> {
  if (filter.more.length === 0)
    return {
      total: sql`select coalesce(sum(count), 0) from device_count where ${counted(scope, 'device_count', filter)}`,
    }
  const single = onlyTableOf(scope, filter)
  return single === null
    ? { reading: 'gathered' }
    : { total: sql`select count(*) from ${single.rows}`, reading: 'chosen' }
}

/**
 * The one table whose rows say which devices match: its rows for them, as a `from` clause. Tables other than `device`
 * know the type of devices but not their site. Null if there is none.
 */
function onlyTableOf(
  scope: SitesScope,
  filter: DeviceFilter,
): { readonly name: 'device' | Joined; readonly rows: RawBuilder<unknown> } | null {
  const { counted: conditions, more, onlyOn: name, onlyUnassigned } = filter
  if (name === 'device') return { name, rows: sql`device where ${passes(scope, filter)}` }
  const { type, ...others } = conditions
  const everywhere = scope.siteIds === 'all' && !onlyUnassigned && Object.keys(others).length === 0
  if (name === null || name === 'status' || !everywhere) return null
  const named = (column: string): RawBuilder<unknown> => sql.ref(`${name}.${column}`)
  const ofType = type === undefined ? [] : [conditionOn(column(named('type')), type)]
  const where = allOf([sql`${named('org_id')} = ${scope.orgId}`, ...ofType, ...more])
  return { name, rows: sql`${joined[name]} ${sql.ref(name)} where ${where}` }
}

/**
 * The tables of a list of few devices that only one table knows: it is read first, and the others row by row. PostgreSQL
 * would rather read all devices to find a thousand of them.
 */
export function fewDevicesFrom(
  scope: SitesScope,
  filter: DeviceFilter,
  needs: readonly (Joined | undefined)[],
): RawBuilder<unknown> | null {
  const single = onlyTableOf(scope, filter)
  if (single === null || single.name === 'device') return null
  const first = sql.ref(single.name)
  const others = needs.filter((name) => name !== single.name)
  return sql`(select ${first}.* from ${single.rows} offset 0) as ${first} cross join lateral (
      select * from device where device.org_id = ${first}.org_id and device.id = ${first}.device_id offset 0
    ) as ${devicesFor(others, { oneByOne: true })}`
}

/** Whether the list is of one site, which has few of the devices of a large organization. */
export function isOfOneSite(scope: SitesScope, { counted: { site_id: site } }: DeviceFilter): boolean {
  if (scope.siteIds !== 'all') return scope.siteIds.length === 1
  return site !== undefined && 'values' in site && site.values.length === 1
}

export interface DeviceList {
  readonly filter: DeviceFilter
  readonly sort: DeviceSort
  readonly page: Page
  /** The columns of `device`, `status` and `site` that form a row; the ids and the sorted column are added. */
  readonly columns: RawBuilder<unknown>
  readonly sizes: Sizes | null
  /** What `columns` names besides: `known` (device_report) or `summary` (device_summary). */
  readonly also?: 'known' | 'summary'
}

/** Reads one page of devices, and only the page if the counters know the length of the list. */
export async function pageOfDevices<T extends object>(
  reader: Reader,
  scope: SitesScope,
  { filter: given, sort: { by, direction }, page, columns, sizes, also }: DeviceList,
): Promise<Paged<T>> {
  const filter = await withKnownModels(reader, scope, given)
  const tables = devicesFor([...filter.needs, by.of], { oneByOne: isOfOneSite(scope, filter) })
  const few = fewDevicesFrom(scope, filter, [...filter.needs, by.of])
  const inIdOrder = by === deviceFields.mac
  // A sort by null would fail, because PostgreSQL takes a constant for the position of a column.
  const sorted = inIdOrder ? sql`` : sql`, ${by.value} as sorted`
  return pageOf<T>(
    reader,
    {
      hits: sql`select device.id ${sorted} from ${tables} where ${passes(scope, filter)}`,
      order: inIdOrder ? ['id'] : ['sorted', 'id'],
      direction,
      nullsLast: by.always !== true,
      ...lengthOf(scope, filter),
      ...(few !== null && { gather: sql`select device.id ${sorted} from ${few}` }),
      rows: sql`select device.id ${inIdOrder ? sql`` : sql`, page.sorted`}, ${columns}
      from ${devicesOnPage(scope, sql`page.id`)}
        left join site on site.org_id = device.org_id and site.id = device.site_id
        ${also === undefined ? sql`` : alsoOnPage(scope, also)}`,
      sizes,
    },
    page,
  )
}

/** The few devices that are a Virtual Chassis: only their status contains members. */
export const isChassis = hasMembers

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
