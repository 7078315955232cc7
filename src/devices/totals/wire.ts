import { type Static, Type } from 'typebox'
import { NO_ID, Timestamp, Uuid, named } from '../../http/schemas.ts'
import { LatLng, type OrgReply, type SiteReply } from '../../orgs/wire.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { OrgTotals, TypeTotals } from './store.ts'

const count = (description?: string) => Type.Integer({ minimum: 0, ...(description !== undefined && { description }) })
const Template = Type.Optional(Type.Union([Uuid, Type.Null()]))

export const SiteStatsReply = named(
  'SiteStats',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    name: Type.String(),
    timezone: Type.String(),
    tzoffset: Type.Integer({ description: 'minutes that `timezone` is ahead of UTC now' }),
    country_code: Type.String({ description: 'empty if the site has none' }),
    address: Type.Optional(Type.String()),
    latlng: LatLng,
    lat: Type.Number({ description: '0, as in `latlng`, if the site has no position' }),
    lng: Type.Number(),
    sitegroup_ids: Type.Array(Uuid),
    alarmtemplate_id: Template,
    networktemplate_id: Template,
    rftemplate_id: Template,
    secpolicy_id: Template,
    created_time: Timestamp,
    modified_time: Timestamp,
    num_ap: count(),
    num_ap_connected: count(),
    num_switch: count(),
    num_switch_connected: count(),
    num_gateway: count(),
    num_gateway_connected: count(),
    num_devices: count(),
    num_devices_connected: count(),
    num_clients: count('wireless clients that connected access points have reported'),
  }),
)

export const OrgStatsReply = named(
  'OrgStats',
  Type.Object({
    id: Uuid,
    name: Type.String(),
    allow_mist: Type.Boolean(),
    session_expiry: Type.Integer(),
    alarmtemplate_id: Type.String({ description: 'zeros, because there are no templates of alarms' }),
    msp_id: Type.String({ description: 'zeros, because no organization belongs to a provider' }),
    orggroup_ids: Type.Array(Uuid, { description: 'always empty' }),
    created_time: Timestamp,
    modified_time: Timestamp,
    num_sites: count(),
    num_inventory: count('devices that the organization has claimed'),
    num_devices: count('those of them in sites'),
    num_devices_connected: count(),
    num_devices_disconnected: count(),
    sle: Type.Array(Type.Unknown(), { description: 'always empty, because no device reports service levels' }),
  }),
)

const templates = ['alarmtemplate_id', 'networktemplate_id', 'rftemplate_id', 'secpolicy_id'] as const

/** Source: clients of `GET /sites/{site_id}/stats`, which the contract does not contain; they require the numbers, `latlng` and `country_code`. */
export function presentSiteStats(
  site: Static<typeof SiteReply>,
  totals: readonly TypeTotals[] = [],
): Static<typeof SiteStatsReply> {
  const { address, latlng } = site
  const { lat, lng } = latlng ?? { lat: 0, lng: 0 }
  const sumOf = (what: 'total' | 'connected' | 'clients', type?: DeviceType): number =>
    totals.reduce((sum, one) => sum + (type === undefined || one.type === type ? one[what] : 0), 0)
  return {
    id: site.id,
    org_id: site.org_id,
    name: site.name,
    timezone: site.timezone,
    tzoffset: site.tzoffset,
    country_code: site.country_code ?? '',
    ...(typeof address === 'string' && { address }),
    latlng: { lat, lng },
    lat,
    lng,
    sitegroup_ids: site.sitegroup_ids ?? [],
    ...Object.fromEntries(templates.flatMap((name) => (site[name] === undefined ? [] : [[name, site[name]]]))),
    created_time: site.created_time,
    modified_time: site.modified_time,
    num_ap: sumOf('total', 'ap'),
    num_ap_connected: sumOf('connected', 'ap'),
    num_switch: sumOf('total', 'switch'),
    num_switch_connected: sumOf('connected', 'switch'),
    num_gateway: sumOf('total', 'gateway'),
    num_gateway_connected: sumOf('connected', 'gateway'),
    num_devices: sumOf('total'),
    num_devices_connected: sumOf('connected'),
    num_clients: sumOf('clients'),
  }
}

/** Source: clients of `GET /orgs/{org_id}/stats`, which the contract does not contain; they require every field. */
export function presentOrgStats(org: Static<typeof OrgReply>, totals: OrgTotals): Static<typeof OrgStatsReply> {
  return {
    id: org.id,
    name: org.name,
    allow_mist: org.allow_mist,
    session_expiry: org.session_expiry,
    alarmtemplate_id: NO_ID,
    msp_id: NO_ID,
    orggroup_ids: [],
    created_time: org.created_time,
    modified_time: org.modified_time,
    num_sites: totals.sites,
    num_inventory: totals.inventory,
    num_devices: totals.devices,
    num_devices_connected: totals.connected,
    num_devices_disconnected: totals.devices - totals.connected,
    sle: [],
  }
}
