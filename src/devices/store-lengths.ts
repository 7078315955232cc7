import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../access/scope.ts'
import { conditionOn } from '../http/lists/store-filters.ts'
import type { List } from '../http/lists/store-pages.ts'
import type { DeviceColumn, Joined } from './store-fields.ts'
import { type DeviceFilter, allOf, counted, devicesFor, isOfOneSite, passes, tablesOf } from './store-lists.ts'
import { valueCounts } from './store-value-counts.ts'

/** The number of devices that match, and how to read them; for pageOf(). */
export function lengthOf(scope: SitesScope, filter: DeviceFilter): Pick<List, 'total' | 'reading'> {
  if (filter.more.length === 0)
    return {
      total: sql`select coalesce(sum(count), 0) from device_count where ${counted(scope, 'device_count', filter)}`,
    }
  const known = knownCounts(scope, filter)
  if (known !== null) return { total: sql`select coalesce(sum(count), 0) from (${known}) as known`, reading: 'chosen' }
  const rows = matchesIn(scope, filter)
  return rows === null ? { reading: 'gathered' } : { total: sql`select count(*) from ${rows}`, reading: 'chosen' }
}

/**
 * The counts of the values that the only condition leaves, as a query for `value` and `count`. Null if it is on a field
 * that has no counters, if there are more conditions, or if the scope is a part of the organization.
 */
export function knownCounts(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> | null {
  const [only, ...others] = filter.compared
  const counter = only?.column?.counter
  if (only === undefined || counter === undefined || others.length > 0 || filter.more.length > 1) return null
  if (!('values' in only.condition) || !isEverywhere(scope, filter)) return null
  return valueCounts(scope, counter, { type: filter.counted.type, of: only.condition })
}

/** Does the same as knownCounts() for all devices, by a field. */
export function allKnownCounts(
  scope: SitesScope,
  filter: DeviceFilter,
  { counter }: DeviceColumn,
): RawBuilder<unknown> | null {
  if (counter === undefined || filter.more.length > 0 || !isEverywhere(scope, filter)) return null
  return valueCounts(scope, counter, { type: filter.counted.type, of: null })
}

/**
 * True if tables other than `device` can determine which devices are in the scope: they have the type, but not the
 * site.
 */
function isEverywhere(scope: SitesScope, { counted: { type: _, ...others }, onlyUnassigned }: DeviceFilter): boolean {
  return scope.siteIds === 'all' && !onlyUnassigned && Object.keys(others).length === 0
}

/**
 * A `from` clause with a row for each matching device, which can be counted from indexes only. Null if the conditions
 * are on `status`, which has no such indexes, or if the scope is one site, which has few devices. It leaves `device` out
 * where other tables know all that match.
 */
function matchesIn(scope: SitesScope, filter: DeviceFilter): RawBuilder<unknown> | null {
  if (filter.on.includes('status')) return null
  if (filter.needs.length > 0 && isOfOneSite(scope, filter)) return null
  const [first, ...others] = filter.on.filter((name) => name !== 'device')
  if (first === undefined || filter.on.includes('device') || !isEverywhere(scope, filter))
    return sql`${devicesFor(filter.needs)} where ${passes(scope, filter)}`
  const optional = filter.optional.filter((name) => !filter.on.includes(name))
  const same = (name: Joined): RawBuilder<unknown> =>
    sql`join ${tablesOf[name]} ${sql.ref(name)} using (org_id, device_id)`
  const joins = [...others.map((name) => sql` ${same(name)}`), ...optional.map((name) => sql` left ${same(name)}`)]
  return sql`${tablesOf[first]} ${sql.ref(first)} ${sql.join(joins, sql``)} where ${matches(scope, filter, first)}`
}

/** The condition on the rows of joined tables; `first` is the one with the type. */
function matches({ orgId }: InOrg, { counted: { type }, more }: DeviceFilter, first: Joined): RawBuilder<unknown> {
  const named = (column: string): RawBuilder<unknown> => sql.ref(`${first}.${column}`)
  const ofType = type === undefined ? [] : [conditionOn({ value: named('type') }, type)]
  return allOf([sql`${named('org_id')} = ${orgId}`, ...ofType, ...more])
}

/**
 * The rows of one table that determine which devices match, as a `from` clause, if all conditions are on this table.
 * Null otherwise.
 */
export function matchesAlone(scope: SitesScope, filter: DeviceFilter, name: Joined): RawBuilder<unknown> | null {
  if (name === 'status' || !isEverywhere(scope, filter)) return null
  if (filter.optional.length > 0 || filter.on.some((other) => other !== name)) return null
  return sql`${tablesOf[name]} ${sql.ref(name)} where ${matches(scope, filter, name)}`
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
  const [name, ...more] = filter.on
  if (name === undefined || name === 'device' || more.length > 0) return null
  const rows = matchesAlone(scope, filter, name)
  if (rows === null) return null
  const first = sql.ref(name)
  const others = needs.filter((other) => other !== name)
  return sql`(select ${first}.* from ${rows} offset 0) as ${first} cross join lateral (
      select * from device where device.org_id = ${first}.org_id and device.id = ${first}.device_id offset 0
    ) as ${devicesFor(others, { oneByOne: true })}`
}
