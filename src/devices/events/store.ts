import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { kindsOf } from '../../events/device-event-types.ts'
import type { StoredDeviceEvent } from '../../events/store-device-events.ts'
import { hourOf, macEndOf } from '../../events/store-hours.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { largeOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, column, conditionsOn, unreported } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import { deviceIdOf, deviceIdsFrom, macOfDeviceId } from '../device.ts'
import { allOf } from '../store-lists.ts'
import { memberSorts } from './filters.ts'
import { type Code, type SearchedCodes, findSearchedCodes, inCodes, kinds, places } from './store-codes.ts'
import type {
  eventSorts,
  orgCountFilters,
  orgEventCounts,
  orgEventFilters,
  siteCountFilters,
  siteEventCounts,
} from './filters.ts'
import { recordOf } from '../../platform/records.ts'

type Filters = typeof orgEventFilters & typeof orgCountFilters & typeof siteCountFilters

/** The events of a time range that satisfy all conditions. */
export interface EventFilter extends TimeRange {
  readonly conditions: Conditions<Filters>
}

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
  readonly deviceName: string
  readonly siteName: string | null
  readonly level: string | null
  readonly apfw: string | null
  readonly event: StoredDeviceEvent
  readonly createdAt: Date
}

const macValue = sql`right(event.device_id::text, 12)`
const macEnd = macEndOf(sql`event.device_id`)
/** The digits of a MAC address before its end. */
const DIGITS_BEFORE_END = 6
const endOfMac = (mac: string): Buffer => Buffer.from(mac.slice(DIGITS_BEFORE_END), 'hex')

/** The index finds the ends of addresses, also those of a prefix that is long enough to limit them. */
const mac: Column = {
  value: macValue,
  isAnyOf: (macs) =>
    sql`(${macEnd} = any(${macs.map(endOfMac)}::bytea[]) and event.device_id = any(${macs.map(deviceIdOf)}::uuid[]))`,
  startsWith(prefix) {
    const ids = deviceIdsFrom(prefix)
    const [first, last] = ids.map((id) => endOfMac(macOfDeviceId(id)))
    const ends = prefix.length > DIGITS_BEFORE_END ? [sql`${macEnd} between ${first}::bytea and ${last}::bytea`] : []
    return sql`(${allOf([...ends, sql`event.device_id between ${ids[0]}::uuid and ${ids[1]}::uuid`])})`
  },
}

const deviceName = sql`coalesce(event.device_name, ${macValue})`
const level = sql`case when kind.warns then 'warn' when not kind.warns then 'notice' end`

const member = (name: string): Column => column(sql`event.event ->> ${sql.lit(name)}`)
const members = recordOf(memberSorts, member)

const fields = {
  ...members,
  device_name: column(deviceName),
  ap_name: column(ofAccessPoint(deviceName)),
  apfw: column(sql`event.apfw`),
  site_name: column(sql`event.site_name`),
  ev_type: column(level),
  id: column(sql`event.id`),
  org_id: column(sql`place.org_id`),
  site_id: column(sql`place.site_id`),
  mac,
  ap: { ...mac, value: ofAccessPoint(macValue) },
  type: column(sql`kind.type`),
  device_type: { value: sql`kind.device_type`, isAnyOf: isOfTypes },
  text: member('text'),
  timestamp: column(sql`event.created_at`),
  model: column(sql`device.model`),
  count: column(sql`(event.event ->> 'count')::integer`),
  type_code: unreported,
} satisfies Columns<Filters> & Record<EventField, Column | typeof unreported> & Record<EventSort, Column>

/** The kinds of a type of devices have adjacent codes. */
function isOfType(type: DeviceType): RawBuilder<unknown> {
  const [first, last] = kindsOf(type)
  return sql`event.kind between ${sql.lit(first)} and ${sql.lit(last)}`
}

function isOfTypes(types: readonly string[]): RawBuilder<unknown> {
  const known = (['ap', 'switch', 'gateway'] as const).filter((type) => types.includes(type))
  return sql`(${sql.join(known.map(isOfType), sql` or `)})`
}

function ofAccessPoint(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${isOfType('ap')} then ${value} end`
}

const hour = hourOf(sql`event.created_at`)

/**
 * Lists events by the field of the sort; by time, and by id within one instant. Only the keys of the events are sorted: the
 * index has whole hours in order, but not the events of an hour.
 */
export async function searchEvents(
  reader: Reader,
  scope: SitesScope,
  { lastBy, sort, page, ...filter }: EventSearch & { readonly page: Page },
): Promise<Paged<FoundEvent>> {
  const codes = await findSearchedCodes(reader, scope, filter.conditions)
  const where = conditions(codes, filter)
  const byTime = sort.by === 'timestamp'
  const sorted = byTime ? sql`` : sql`, ${fields[sort.by].value} as sorted`
  const from = events(scope, filter)
  const last = lastBy && lastOf(fields[lastBy].value, { from: sql`${from} ${joinFor(lastBy)}`, where })
  return pageOf<FoundEvent>(
    reader,
    {
      hits: sql`select ${hour} as hour, event.place, event.created_at, event.id ${sorted}
        from ${last ?? from} ${joinFor(sort.by)} where ${last === null ? where : sql`true`}`,
      order: byTime ? ['hour', 'created_at', 'id'] : ['sorted', 'id'],
      direction: sort.direction,
      rows: sql`select event.id, place.org_id, place.site_id, event.device_id, kind.device_type, kind.type, event.event,
          event.created_at, ${deviceName} as device_name, event.site_name, event.apfw, ${level} as level,
          page.hour ${byTime ? sql`` : sql`, page.sorted`}
        from ${eventsOnPage(codes)} ${kinds.join} ${places.join}`,
      sizes: largeOf(from, sql`event.event_bytes`, { where }),
    },
    page,
  )
}

/** The events of `page`, a list of keys: each is looked up. */
function eventsOnPage({ org }: SearchedCodes): RawBuilder<unknown> {
  return sql`page cross join lateral (
      select * from device_event_row event
      where event.org = ${org} and ${hour} = page.hour and event.place = page.place
        and event.created_at = page.created_at and event.id = page.id
      limit 1
    ) as event`
}

/** Selects the last event of each value; events without a value are left out. */
function lastOf(
  value: RawBuilder<unknown>,
  { from, where }: { readonly from: RawBuilder<unknown>; readonly where: RawBuilder<unknown> },
): RawBuilder<unknown> {
  return sql`(
    select distinct on (${value}) event.* from ${from} where ${where} and ${value} is not null
    order by ${value}, event.created_at desc, event.id desc
  ) as event`
}

/** The fields by which events are counted. */
export type EventField = (typeof orgEventCounts | typeof siteEventCounts)[number]

export interface EventCountQuery extends EventFilter, Page {
  readonly distinct: EventField
}

/** Counts are answered as texts: short ones, because they are up to a thousand and a device's text may be very long. */
const counted: Partial<Record<EventField, RawBuilder<unknown>>> = {
  text: sql`left(event.event ->> 'text', 1000)`,
  timestamp: sql`(extract(epoch from event.created_at)::float8)::text`,
}

export async function countEvents(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, page, ...filter }: EventCountQuery,
): Promise<Counts> {
  const field = counted[distinct] ?? fields[distinct]?.value
  if (field === undefined) return { rows: [], total: 0 }
  const where = conditions(await findSearchedCodes(reader, scope, filter.conditions), filter)
  const code = codeOf[distinct]
  if (code !== undefined) {
    // The events of each code are counted before its text is looked up.
    const byCode = sql`select event.${code.name}, count(*) as hits from ${events(scope, filter)} where ${where} group by 1`
    const hits = sql`select ${field} as value, event.hits from (${byCode}) as event ${code.join}`
    return countsOf(reader, hits, { field: sql`hit.value`, limit, page, weight: sql`hit.hits` })
  }
  const from = distinct === 'model' ? withDevices(scope) : events(scope, filter)
  const hits = sql`select ${field} as value from ${from} where ${where}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit, page })
}

/** The codes that stand for fields. */
const codeOf: Partial<Record<EventField | EventSort, Code>> = {
  ...{ type: kinds, device_type: kinds, ev_type: kinds },
  ...{ site_id: places, org_id: places },
}

/** What a query for the value of the field has to join: others read only the index. */
function joinFor(field: EventSort): RawBuilder<unknown> {
  return codeOf[field]?.join ?? sql``
}

const allEvents = sql`device_event_row event`

function withDevices({ orgId }: InOrg): RawBuilder<unknown> {
  return sql`${allEvents} left join device on device.org_id = ${orgId} and device.id = event.device_id`
}

function events(scope: InOrg, { conditions: { model } }: EventFilter): RawBuilder<unknown> {
  return model === undefined ? allEvents : withDevices(scope)
}

function conditions(codes: SearchedCodes, filter: EventFilter): RawBuilder<unknown> {
  const { start, end } = filter
  const { type: _, site_id: __, ...others } = filter.conditions
  return allOf([
    sql`event.created_at >= ${start} and event.created_at <= ${end}`,
    inHours(codes, filter),
    ...inCodes(codes),
    ...conditionsOn<Filters>(fields, others),
  ])
}

const HOUR_MS = 3600e3

/** More look-ups in the index take longer than reading all sites of the hours. */
const MAX_LOOK_UPS = 10_000

/**
 * The hours of the time range: all of them as one part of the index, or one by one if a search is for few sites, so that
 * only these are read of each hour.
 */
function inHours({ places: searched }: SearchedCodes, { start, end }: EventFilter): RawBuilder<unknown> {
  const [first, last] = [start, end].map((time) => Math.floor(time.getTime() / HOUR_MS))
  if (first === undefined || last === undefined) return sql`true`
  // Without places, no hours are looked up, and there may be millions of them.
  if (searched === null || searched.length === 0 || searched.length * (last - first + 1) > MAX_LOOK_UPS)
    return sql`${hour} >= ${first} and ${hour} <= ${last}`
  const hours = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
  // An array as a text: pg takes long to encode thousands of values, and holds the event loop meanwhile.
  return sql`${hour} = any(${`{${hours.join()}}`}::integer[])`
}
