import { type Static, Type } from 'typebox'
import type { SitesScope } from '../../access/scope.ts'
import { filterQuery } from '../../http/lists/filters.ts'
import { type Page } from '../../http/lists/lists.ts'
import { parseEventCount, parseEventSearch } from '../../http/lists/place-filters.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import {
  type TimeRange,
  distinctParameter,
  sortParameter,
  countQuery,
  pagedSearchQuery,
} from '../../http/lists/search.ts'
import { epochS } from '../../platform/time/clock.ts'
import { macOfDeviceId } from '../device.ts'
import {
  eventSorts,
  orgCountFilters,
  orgEventCounts,
  orgEventFilters,
  siteCountFilters,
  siteEventCounts,
  siteEventFilters,
} from './filters.ts'
import type { EventCountQuery, EventSearch, FoundEvent } from './store.ts'

const search = {
  ...pagedSearchQuery,
  last_by: Type.Optional(
    Type.Enum([...eventSorts], { description: 'a field: only the last event of each of its values is found' }),
  ),
  sort: sortParameter(eventSorts, '-timestamp'),
}

/** Source: contract, `searchSiteDeviceEvents`. */
export const SiteEventsSearch = Type.Object({ ...search, ...filterQuery(siteEventFilters) })

/** Source: contract, `searchOrgDeviceEvents`. */
export const OrgEventsSearch = Type.Object({ ...search, ...filterQuery(orgEventFilters) })

type AnySearch = Static<typeof OrgEventsSearch> | Static<typeof SiteEventsSearch>

/** A site's search finds devices of every type. */
const searchFilters = { org: orgEventFilters, site: siteEventFilters, orgDefaults: { device_type: 'ap' } }

/** @throws AppError invalid naming the field. */
export function parseDeviceEventSearch(query: AnySearch, now: Date, scope: SitesScope): EventSearch & TimeRange & Page {
  return { ...parseEventSearch(searchFilters, query, { now, scope }), lastBy: query.last_by ?? null }
}

const countFilters = { org: orgCountFilters, site: siteCountFilters }

/** Source: contract, `countOrgDeviceEvents`. */
export const OrgEventsCount = Type.Object({
  ...countQuery,
  ...filterQuery(orgCountFilters),
  distinct: distinctParameter(orgEventCounts, 'model'),
})
/** Source: contract, `countSiteDeviceEvents`. */
export const SiteEventsCount = Type.Object({
  ...countQuery,
  ...filterQuery(siteCountFilters),
  distinct: distinctParameter(siteEventCounts, 'model'),
})

type AnyCount = Static<typeof OrgEventsCount> | Static<typeof SiteEventsCount>

/** @throws AppError invalid naming the field. */
export function parseDeviceEventCount(query: AnyCount, now: Date, scope: SitesScope): EventCountQuery & TimeRange {
  return parseEventCount(countFilters, query, { now, scope, usual: 'model' })
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
      ap: Type.Optional(Type.String({ description: '`mac`, of an access point' })),
      ap_name: Type.Optional(Type.String({ description: 'name of the access point' })),
      device_name: Type.Optional(Type.String({ description: 'name of the device, if it has one' })),
      device_type: Type.String(),
      type: Type.String(),
      text: Type.Optional(Type.String()),
      apfw: Type.Optional(Type.String({ description: 'the version that the access point ran, where it is known' })),
      port_id: Type.Optional(Type.String({ description: 'the port whose link has changed' })),
      count: Type.Optional(Type.Integer({ description: 'how often the link has changed since the report before' })),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** Presents the event as the webhook topic `device-events` does, with its id. */
export function presentEvent(found: FoundEvent): Static<typeof EventReply> {
  const { id, orgId, siteId, deviceId, deviceType, type, event, createdAt } = found
  const { deviceName, siteName, level, apfw } = found
  const mac = macOfDeviceId(deviceId)
  return {
    ...event,
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    mac,
    device_name: deviceName,
    ...(siteName !== null && { site_name: siteName }),
    ...(level !== null && { ev_type: level }),
    ...(apfw !== null && { apfw }),
    ...(deviceType === 'ap' && { ap: mac, ap_name: deviceName }),
    device_type: deviceType,
    type,
    timestamp: epochS(createdAt),
  }
}
