import { type Static, Type } from 'typebox'
import { type SitesScope, siteIdOf } from '../../access/scope.ts'
import { type Page, pageQuery, parsePage } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { type TimeRange, parseSort, parseTimeRange, searchQuery } from '../../http/search.ts'
import { epochS } from '../../platform/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { parseMacFilter } from '../inventory/wire.ts'
import { parseType } from '../wire.ts'
import type { EventCountQuery, EventFilter, EventSearch, FoundEvent } from './store.ts'

const text = Type.Optional(Type.String({ maxLength: 200 }))

const filters = {
  mac: text,
  model: Type.Optional(Type.String({ maxLength: 200, description: 'of the device as it is now' })),
  text: Type.Optional(Type.String({ maxLength: 200, description: 'part of the text, in any case' })),
  timestamp: Type.Optional(Type.String({ description: 'epoch seconds: events of that second' })),
  type: Type.Optional(Type.String({ maxLength: 200, description: 'one or more types, separated by commas' })),
}

const notThere = {
  last_by: Type.Optional(Type.String({ description: 'is refused' })),
  includes: Type.Optional(Type.String({ description: 'is refused' })),
}

/** Source: contract, `searchSiteDeviceEvents`. */
export const SiteEventsSearch = Type.Object({
  ...searchQuery,
  ...pageQuery,
  ...filters,
  ...notThere,
  sort: Type.Optional(Type.Enum(['timestamp', '-timestamp'], { default: '-timestamp' })),
})

/** Source: contract, `searchOrgDeviceEvents`. */
export const OrgEventsSearch = Type.Object({
  ...SiteEventsSearch.properties,
  site_id: Type.Optional(Uuid),
  device_type: Type.Optional(Type.Enum(['all', 'ap', 'gateway', 'switch'], { default: 'ap' })),
})

type AnySearch = Static<typeof SiteEventsSearch> & Pick<Static<typeof OrgEventsSearch>, 'site_id' | 'device_type'>

/** A site's search finds devices of every type. @throws AppError invalid naming the field. */
export function parseEventSearch(query: AnySearch, now: Date, scope: SitesScope): EventSearch & TimeRange & Page {
  if (query.last_by !== undefined) throw invalidField('last_by', 'is not supported')
  if (query.includes !== undefined) throw invalidField('includes', 'is not supported')
  const siteId = siteIdOf(scope)
  const range = parseTimeRange(query, now)
  return {
    ...range,
    ...parsePage(query),
    filter: { ...range, ...parseFilter(query, siteId), type: siteId === null ? parseType(query.device_type) : null },
    direction: parseSort(query.sort ?? '-timestamp').direction,
  }
}

interface CommonFilters {
  readonly site_id?: string
  readonly mac?: string
  readonly ap?: string
  readonly model?: string
  readonly text?: string
  readonly timestamp?: string
  readonly type?: string
}

function parseFilter(query: CommonFilters, siteId: string | null): Omit<EventFilter, 'start' | 'end' | 'type'> {
  const second = query.timestamp === undefined ? null : Number(query.timestamp)
  if (second !== null && !(second >= 0 && second < 1e11)) throw invalidField('timestamp', 'must be epoch seconds')
  return {
    siteId: siteId ?? query.site_id ?? null,
    macs: [parseMacFilter('mac', query.mac), parseMacFilter('ap', query.ap)].filter((mac) => mac !== null),
    model: query.model ?? null,
    text: query.text ?? null,
    second: second === null ? null : Math.floor(second),
    types: query.type === undefined ? null : query.type.split(',').map((type) => type.trim()),
  }
}

const counts = { ...searchQuery, limit: pageQuery.limit, ...filters }
const orgFields = ['ap', 'apfw', 'mac', 'model', 'org_id', 'site_id', 'text', 'timestamp', 'type'] as const
const siteFields = ['mac', 'model', 'type', 'type_code'] as const

/** Source: contract, `countOrgDeviceEvents`. */
export const OrgEventsCount = Type.Object({
  ...counts,
  distinct: Type.Optional(Type.Enum(orgFields, { default: 'model' })),
  site_id: Type.Optional(Uuid),
  ap: text,
  apfw: Type.Optional(Type.String({ description: 'not known of any event: matches none' })),
})
/** Source: contract, `countSiteDeviceEvents`. */
export const SiteEventsCount = Type.Object({
  ...counts,
  distinct: Type.Optional(Type.Enum(siteFields, { default: 'model' })),
  type_code: Type.Optional(Type.String({ description: 'not known of any event: matches none' })),
})

type AnyCount = Omit<Static<typeof SiteEventsCount>, 'distinct'> &
  Omit<Static<typeof OrgEventsCount>, 'distinct'> & {
    readonly distinct?: (typeof orgFields | typeof siteFields)[number]
  }

/** @throws AppError invalid naming the field. */
export function parseEventCount(
  query: AnyCount,
  now: Date,
  scope: SitesScope,
): EventCountQuery & TimeRange & { readonly distinct: string } {
  const distinct = query.distinct ?? 'model'
  const range = parseTimeRange(query, now)
  const unknown = [
    distinct === 'apfw',
    distinct === 'type_code',
    query.apfw !== undefined,
    query.type_code !== undefined,
  ]
  return {
    ...range,
    distinct,
    field: distinct === 'apfw' || distinct === 'type_code' || unknown.includes(true) ? null : distinct,
    limit: parsePage(query).limit,
    filter: { ...range, ...parseFilter(query, siteIdOf(scope)), type: null },
  }
}

/** Source: contract, `response_events_devices`. */
export const EventReply = named(
  'DeviceEvent',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      mac: Type.String(),
      device_type: Type.String(),
      type: Type.String(),
      text: Type.Optional(Type.String()),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** Presents the event as the webhook topic `device-events` does, with its id. */
export function presentEvent({ id, orgId, siteId, event, createdAt }: FoundEvent): Static<typeof EventReply> {
  const { mac, device_type, type, text } = event
  return {
    ...event,
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    mac,
    device_type,
    type,
    ...(text !== undefined && { text }),
    timestamp: epochS(createdAt),
  }
}
