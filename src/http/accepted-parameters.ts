import { type TProperties, Type } from 'typebox'

const ofNow = {
  start: 'statistics are those of now',
  end: 'statistics are those of now',
  duration: 'statistics are those of now',
}

const noOtherEvents = { includes: 'there are no events of other sources that it could add' }

/**
 * Query parameters that the contract declares and that have no effect here, with the reason. They are accepted, because
 * clients send them; every other parameter that an operation does not know is refused by its name. The same reasons are
 * in docs/spec-map.md.
 */
export const acceptedParameters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  searchOrgDevices: { stats: 'what is known of a device is answered anyway' },
  searchSiteDevices: { stats: 'what is known of a device is answered anyway' },
  searchOrgDeviceEvents: noOtherEvents,
  searchSiteDeviceEvents: noOtherEvents,
  countOrgDeviceEvents: noOtherEvents,
  searchOrgMxEdges: { stats: 'the statistics of an appliance are answered anyway' },
  countOrgMxEdges: {
    stats: 'the statistics of an appliance are no part of a count',
    sort: 'counts are in the order of their size',
  },
  listOrgDevicesStats: { fields: 'every field that is known is answered anyway', ...ofNow },
  listSiteDevicesStats: { fields: 'every field that is known is answered anyway' },
  getSiteDeviceStats: { fields: 'every field that is known is answered anyway' },
  listSiteWirelessClientsStats: ofNow,
  listOrgMxEdgesStats: ofNow,
  listSiteMxEdgesStats: ofNow,
  getOrgMxEdgeStats: { for_site: 'an appliance is found whichever site has it' },
  getSiteMxEdgeStats: ofNow,
}

/** The schemas of the parameters that an operation accepts without effect. */
export function acceptedQuery(operationId: string): TProperties {
  const entries = Object.entries(acceptedParameters[operationId] ?? {})
  return Object.fromEntries(
    entries.map(([name, reason]) => [
      name,
      Type.Optional(Type.String({ maxLength: 1000, description: `accepted without effect: ${reason}` })),
    ]),
  )
}
