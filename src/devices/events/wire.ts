import { type Static, Type } from 'typebox'
import type { SitesScope } from '../../access/scope.ts'
import { placeCountOf, placeSearchOf } from '../../http/lists/declare-search.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
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
import type { FoundEvent } from './store.ts'

const search = placeSearchOf({
  org: orgEventFilters,
  site: siteEventFilters,
  // A site's search finds devices of every type.
  defaults: { org: { device_type: 'ap' } },
  sorts: eventSorts,
  usual: '-timestamp',
})
const more = {
  last_by: Type.Optional(
    Type.Enum([...eventSorts], { description: 'a field: only the last event of each of its values is found' }),
  ),
}
const query = {
  org: Type.Object({ ...search.query.org.properties, ...more }),
  site: Type.Object({ ...search.query.site.properties, ...more }),
}
type EventQuery = Static<typeof query.org> | Static<typeof query.site>

/** Source: contract, `searchOrgDeviceEvents` and `searchSiteDeviceEvents`. */
export const deviceEventSearch = {
  query,
  parse: (asked: EventQuery, now: Date, scope: SitesScope) => ({
    ...search.parse(asked, now, scope),
    lastBy: asked.last_by ?? null,
  }),
}

/** Source: contract, `countOrgDeviceEvents` and `countSiteDeviceEvents`. */
export const deviceEventCount = placeCountOf({
  org: orgCountFilters,
  site: siteCountFilters,
  counts: { org: orgEventCounts, site: siteEventCounts },
  usual: 'model',
})

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
