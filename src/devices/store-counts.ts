import { sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import type { DeviceType } from '../events/device-type.ts'
import type { Page } from '../http/lists/lists.ts'
import type { Counts } from '../http/lists/search.ts'
import { unreported } from '../http/lists/store-filters.ts'
import { countsOf } from '../http/lists/store-pages.ts'
import type { Reader } from '../platform/database/db.ts'
import { plannedAnew } from '../platform/database/connections/prepared.ts'
import type { DeviceColumn } from './store-fields.ts'
import { withKnownValues } from './store-known.ts'
import { allKnownCounts, fewDevicesFrom, knownCounts, lengthOf, matchesAlone } from './store-lengths.ts'
import {
  type DeviceFilter,
  counted,
  devicesFor,
  everyDevice,
  inCounters,
  isOfOneSite,
  isOnlyOn,
  passes,
} from './store-lists.ts'

/** Up to how many devices are looked up one by one rather than in a join of whole tables. */
const FEW = 5000

async function countHits(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<number> {
  const { total } = lengthOf(scope, filter)
  const { rows } = await sql<{ hits: string }>`select ${plannedAnew} (${total}) as hits`.execute(reader)
  return Number(rows[0]?.hits)
}

/** Counts the devices for each value of a field, the most frequent first; none for a field that no device reports. */
export async function countDevicesBy(
  reader: Reader,
  scope: SitesScope,
  count: Page & { readonly filter: DeviceFilter; readonly field: DeviceColumn | typeof unreported },
): Promise<Counts> {
  const { field, limit, page } = count
  if (field === unreported) return { rows: [], total: 0 }
  const filter = await withKnownValues(reader, scope, count.filter)
  const [name] = Object.entries(inCounters).find(([, known]) => known === field) ?? []
  if (filter.more.length === 0 && name !== undefined) {
    const hits = sql`select * from device_count where ${counted(scope, 'device_count', filter)}`
    return countsOf(reader, hits, { field: sql`hit.${sql.ref(name)}`, limit, page, weight: sql`hit.count` })
  }
  const known = isOnlyOn(filter, field) && filter.more.length > 0 ? knownCounts(scope, filter) : null
  if (known !== null) return countsOf(reader, known, { field: sql`hit.value`, limit, page, weight: sql`hit.count` })
  const counts = allKnownCounts(scope, filter, field)
  if (counts !== null) {
    const { total } = lengthOf(scope, filter)
    const hits = sql`${counts} union all select null, (${total}) - (select coalesce(sum(count), 0) from (${counts}) as known)`
    return countsOf(reader, hits, { field: sql`hit.value`, limit, page, weight: sql`hit.count` })
  }
  const alone = filter.more.length === 0 && field.of !== undefined ? matchesAlone(scope, filter, field.of) : null
  if (alone !== null) {
    const { total } = lengthOf(scope, filter)
    // Devices without a row in the table have no value.
    const hits = sql`select ${field.value} as value, count(*) as count from ${alone} group by 1
      union all select null, (${total}) - (select count(*) from ${alone})`
    return countsOf(reader, hits, { field: sql`hit.value`, limit, page, weight: sql`hit.count` })
  }
  const needs = [...filter.needs, field.of]
  const few = fewDevicesFrom(scope, filter, needs)
  if (few !== null && (await countHits(reader, scope, filter)) <= FEW) {
    return countsOf(reader, sql`select ${plannedAnew} ${field.value} as value from ${few}`, {
      field: sql`hit.value`,
      limit,
      page,
    })
  }
  const tables = devicesFor(needs, { oneByOne: isOfOneSite(scope, filter) })
  const hits = sql`select ${field.value} as value from ${tables} where ${passes(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit, page })
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
