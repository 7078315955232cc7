import { type Static, Type } from 'typebox'
import type { SitesScope } from '../../access/scope.ts'
import { placeCountOf, placeSearchOf } from '../../http/lists/declare-search.ts'
import { parseTimeRange } from '../../http/lists/search.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import {
  orgCountFilters,
  orgCounts,
  orgSearchFilters,
  searchSorts,
  siteCountFilters,
  siteCounts,
  siteSearchFilters,
  summaryFields,
} from './filters.ts'
import type { DeviceHit } from './store.ts'

const search = placeSearchOf({
  org: orgSearchFilters,
  site: siteSearchFilters,
  defaults: { org: { type: 'ap' }, site: { type: 'ap' } },
  sorts: searchSorts,
  usual: '-timestamp',
})
const query = {
  org: search.query.org,
  site: Type.Object({
    ...search.query.site.properties,
    desc_sort: Type.Optional(Type.Enum([...searchSorts], { description: 'as `sort` with a minus' })),
  }),
}
type SearchQuery = Static<typeof query.org> & Pick<Static<typeof query.site>, 'desc_sort'>

/** Source: contract, `searchOrgDevices` and `searchSiteDevices`. */
export const deviceSearch = {
  query,
  parse: ({ desc_sort: field, ...others }: SearchQuery, now: Date, scope: SitesScope) => ({
    ...search.parse(field === undefined ? others : { ...others, sort: `-${field}` }, now, scope),
    createdUntil: untilOf(others.end, now),
  }),
}

/**
 * Devices that were claimed after the range did not exist in it. Null for a range that reaches to now, as most do: every
 * present device existed in it.
 */
function untilOf(text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null
  const { end } = parseTimeRange({ end: text }, now)
  return end < now ? end : null
}

const count = placeCountOf({
  org: orgCountFilters,
  site: siteCountFilters,
  defaults: { org: { type: 'ap' } },
  counts: { org: orgCounts, site: siteCounts },
  usual: 'model',
})
type CountQuery = Static<typeof count.query.org> | Static<typeof count.query.site>

/** Source: contract, `countOrgDevices` and `countSiteDevices`. */
export const deviceCount = {
  query: count.query,
  parse: (asked: CountQuery, now: Date, scope: SitesScope) => ({
    ...count.parse(asked, now, scope),
    createdUntil: untilOf(asked.end, now),
  }),
}

/** Source: contract, `response_search_devices`. */
export const DeviceHitReply = named(
  'DeviceHit',
  Type.Object(
    {
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      type: Type.Optional(Type.Enum(['gateway', 'switch'], { description: 'absent: an access point' })),
      mac: Type.String(),
      model: Type.String(),
      serial: Type.String(),
      hostname: Type.Array(Type.String()),
      status: Type.Enum(['connected', 'disconnected']),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** `timestamp` is the time of the last change of the device's record. */
export function presentHit(hit: DeviceHit, now: Date): Static<typeof DeviceHitReply> {
  const { orgId, siteId, type, mac, model, name, serial, bootedAt, firmware, ip, extIp, numMembers, managed } = hit
  const upS = hit.connected === true && bootedAt !== null ? (now.getTime() - bootedAt.getTime()) / 1000 : null
  return {
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    // Typed clients decide by `type` which kind of result they have, and have none for access points.
    ...(type !== 'ap' && { type }),
    mac,
    model,
    serial,
    hostname: name === null ? [] : [name],
    ...(name !== null && { last_hostname: name }),
    status: hit.connected === true ? 'connected' : 'disconnected',
    ...(firmware !== null && { version: firmware }),
    ...(typeof ip === 'string' && { ip }),
    ...(extIp !== null && { ext_ip: extIp }),
    ...(upS !== null && { uptime: Math.max(1, Math.floor(upS)) }),
    ...(hit.lastSeenAt !== null && { last_seen: epochS(hit.lastSeenAt) }),
    ...(type === 'ap' ? { ...ofAccessPoint, ...presentSummaryOf(hit) } : ofOthers(managed, numMembers ?? 1)),
    timestamp: epochS(hit.modifiedAt),
  }
}

function ofOthers(managed: boolean | null, numMembers: number) {
  return { managed: managed === true, num_members: numMembers, clustered: numMembers > 1 }
}

/** Clients require the channel width as a text here, and everywhere else as a number. Source: contract, `ap_search`. */
function presentSummaryOf({ summary }: DeviceHit): object {
  const shown: Record<string, string | number> = {}
  for (const [place, name] of summaryFields.entries()) {
    const value = summary[place] ?? null
    if (value !== null) shown[name] = name.endsWith('_bandwidth') ? String(value) : value
  }
  return shown
}

/** Clients require these of an access point. Signalbox has no data on tunnels, wireless networks and power. */
const ofAccessPoint = { mxtunnel_status: 'down', power_constrained: false, power_opmode: '', wlans: [] }

/** Source: contract, `org_devices_summary`. */
export const DevicesSummaryReply = named(
  'DevicesSummary',
  Type.Object({
    num_aps: Type.Integer(),
    num_gateways: Type.Integer(),
    num_mxedges: Type.Integer(),
    num_switches: Type.Integer(),
    num_unassigned_aps: Type.Integer(),
    num_unassigned_gateways: Type.Integer(),
    num_unassigned_switches: Type.Integer(),
  }),
)

const plurals = { ap: 'aps', gateway: 'gateways', switch: 'switches' } as const

export function presentSummary(
  counts: readonly { readonly type: keyof typeof plurals; readonly assigned: boolean; readonly count: number }[],
  mxedges: number,
): Static<typeof DevicesSummaryReply> {
  const summary = {
    num_aps: 0,
    num_gateways: 0,
    num_mxedges: mxedges,
    num_switches: 0,
    num_unassigned_aps: 0,
    num_unassigned_gateways: 0,
    num_unassigned_switches: 0,
  }
  for (const { type, assigned, count } of counts) {
    summary[`num_${plurals[type]}`] += count
    if (!assigned) summary[`num_unassigned_${plurals[type]}`] += count
  }
  return summary
}
