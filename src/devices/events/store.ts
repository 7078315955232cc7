import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { StoredDeviceEvent } from '../../events/store.ts'
import { hourOf } from '../../events/store-hours.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { largeOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, column, conditionsOn, unreported } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import { deviceIdOf, deviceIdsFrom } from '../device.ts'
import { allOf } from '../store-lists.ts'
import { memberSorts } from './filters.ts'
import type {
  eventSorts,
  orgCountFilters,
  orgEventCounts,
  orgEventFilters,
  siteCountFilters,
  siteEventCounts,
} from './filters.ts'

type Filters = typeof orgEventFilters & typeof orgCountFilters & typeof siteCountFilters

/** The events of a time range that satisfy all conditions. */
export interface EventFilter extends TimeRange {
  readonly conditions: Conditions<Filters>
}

type MemberSort = (typeof memberSorts)[number]
type EventSort = (typeof eventSorts)[number]

export interface EventSearch extends EventFilter {
  /** Limits the result to the last event of each value of this field; null: no limit. */
  readonly lastBy: EventSort | null
  readonly sort: Sort<EventSort>
}

export interface FoundEvent {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly deviceId: string
  readonly deviceType: DeviceType
  readonly type: string
  readonly deviceName: string | null
  readonly siteName: string | null
  readonly level: string | null
  readonly event: StoredDeviceEvent
  readonly createdAt: Date
}

const macValue = sql`right(event.device_id::text, 12)`

const mac: Column = {
  value: macValue,
  isAnyOf: (macs) => sql`event.device_id = any(${macs.map(deviceIdOf)})`,
  startsWith: (prefix) => {
    const [first, last] = deviceIdsFrom(prefix)
    return sql`event.device_id between ${first} and ${last}`
  },
}

/** Documents have these members where the columns are null: in events of former releases. */
const deviceName = sql`coalesce(event.device_name, event.event ->> 'device_name')`
const siteName = sql`coalesce(event.site_name, event.event ->> 'site_name')`
const level = sql`case when event.warns then 'warn' when not event.warns then 'notice' else event.event ->> 'ev_type' end`

const member = (name: string): Column => column(sql`event.event ->> ${sql.lit(name)}`)
const members = Object.fromEntries(memberSorts.map((name) => [name, member(name)])) as Record<MemberSort, Column>

const fields = {
  ...members,
  device_name: column(deviceName),
  ap_name: column(ofAccessPoint(deviceName)),
  site_name: column(siteName),
  ev_type: column(level),
  id: column(sql`event.id`),
  org_id: column(sql`event.org_id`),
  site_id: column(sql`event.site_id`),
  mac,
  ap: { ...mac, value: ofAccessPoint(macValue) },
  type: column(sql`event.type`),
  device_type: column(sql`event.device_type`),
  text: member('text'),
  timestamp: column(sql`event.created_at`),
  model: column(sql`device.model`),
  count: column(sql`(event.event ->> 'count')::integer`),
  type_code: unreported,
} satisfies Columns<Filters> & Record<EventField, Column | typeof unreported> & Record<EventSort, Column>

function ofAccessPoint(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when event.device_type = 'ap' then ${value} end`
}

const hour = hourOf(sql`event.created_at`)

/**
 * Lists events by the field of the sort; by time, and by id within one instant. Only the keys of the events are sorted: the
 * index has whole hours in order, but not the events of an hour.
 */
export function searchEvents(
  reader: Reader,
  scope: SitesScope,
  { lastBy, sort, page, ...filter }: EventSearch & { readonly page: Page },
): Promise<Paged<FoundEvent>> {
  const where = conditions(scope, filter)
  const byTime = sort.by === 'timestamp'
  const sorted = byTime ? sql`` : sql`, ${fields[sort.by].value} as sorted`
  return pageOf<FoundEvent>(
    reader,
    {
      hits: sql`select ${hour} as hour, event.site_id, event.created_at, event.id ${sorted}
        from ${lastBy === null ? events(filter) : lastOf(fields[lastBy].value, events(filter), where)}
        where ${lastBy === null ? where : sql`true`}`,
      order: byTime ? ['hour', 'created_at', 'id'] : ['sorted', 'id'],
      direction: sort.direction,
      rows: sql`select event.id, event.org_id, event.site_id, event.device_id, event.device_type, event.type, event.event,
          event.created_at, ${deviceName} as device_name, ${siteName} as site_name, ${level} as level,
          page.hour ${byTime ? sql`` : sql`, page.sorted`}
        from ${eventsOnPage(scope)}`,
      sizes: largeOf(events(filter), sql`event.event_bytes`, { where }),
    },
    page,
  )
}

/** The events of `page`, a list of keys: each is looked up, with a condition on its site that the index can use. */
function eventsOnPage({ orgId }: InOrg): RawBuilder<unknown> {
  const key = sql`event.org_id = ${orgId} and ${hour} = page.hour and event.created_at = page.created_at and event.id = page.id`
  return sql`page cross join lateral (
      select * from device_event event where ${key} and event.site_id = page.site_id
      union all
      select * from device_event event where ${key} and event.site_id is null and page.site_id is null
      limit 1
    ) as event`
}

/** Selects the last event of each value; events without a value are left out. */
function lastOf(
  value: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`(
    select distinct on (${value}) event.* from ${from} where ${where} and ${value} is not null
    order by ${value}, event.created_at desc, event.id desc
  ) as event`
}

/** The fields by which events are counted. */
export type EventField = (typeof orgEventCounts | typeof siteEventCounts)[number]

export interface EventCountQuery extends EventFilter {
  readonly distinct: EventField
  readonly limit: number
}

/** Counts are answered as texts: short ones, because they are up to a thousand and a device's text may be very long. */
const counted: Partial<Record<EventField, RawBuilder<unknown>>> = {
  text: sql`left(event.event ->> 'text', 1000)`,
  timestamp: sql`(extract(epoch from event.created_at)::float8)::text`,
}

export async function countEvents(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, ...filter }: EventCountQuery,
): Promise<Counts> {
  const field = counted[distinct] ?? fields[distinct]?.value
  if (field === undefined) return { rows: [], total: 0 }
  const from = distinct === 'model' ? withDevices : events(filter)
  const hits = sql`select ${field} as value from ${from} where ${conditions(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit })
}

const withDevices = sql`device_event event
  left join device on device.org_id = event.org_id and device.id = event.device_id`

function events({ conditions: { model } }: EventFilter): RawBuilder<unknown> {
  return model === undefined ? sql`device_event event` : withDevices
}

function conditions(scope: SitesScope, filter: EventFilter): RawBuilder<unknown> {
  const { start, end } = filter
  return allOf([
    sql`event.org_id = ${scope.orgId} and event.created_at >= ${start} and event.created_at <= ${end}`,
    inHours(scope, filter),
    inSites(scope, sql`event.site_id`),
    ...conditionsOn<Filters>(fields, filter.conditions),
  ])
}

const HOUR_MS = 3600e3

/** More look-ups in the index take longer than reading all sites of the hours. */
const MAX_LOOK_UPS = 10_000

/**
 * The hours of the time range: all of them as one part of the index, or one by one if a search is for few sites, so that
 * only these are read of each hour.
 */
function inHours(scope: SitesScope, filter: EventFilter): RawBuilder<unknown> {
  const [first, last] = [filter.start, filter.end].map((time) => Math.floor(time.getTime() / HOUR_MS))
  if (first === undefined || last === undefined) return sql`true`
  const sites = countSites(scope, filter)
  if (sites === null || sites * (last - first + 1) > MAX_LOOK_UPS)
    return sql`${hour} >= ${new Date(first * HOUR_MS)} and ${hour} <= ${new Date(last * HOUR_MS)}`
  const hours = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => hourText(first + index))
  // An array as a text: pg takes eight times as long to encode thousands of dates, and holds the event loop meanwhile.
  return sql`${hour} = any(${`{${hours.join()}}`}::timestamptz[])`
}

const hourText = (index: number): string => new Date(index * HOUR_MS).toISOString()

/** Null: all sites. */
function countSites({ siteIds }: SitesScope, { conditions: { site_id: site } }: EventFilter): number | null {
  if (site !== undefined && 'values' in site && site.patterns.length === 0) return site.values.length
  return siteIds === 'all' ? null : siteIds.length
}
