import { type Static, type TSchema, Type } from 'typebox'
import { type SitesScope, siteIdOf } from '../../access/scope.ts'
import { type Page, pageQuery, parsePage } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { type TimeRange, parseSort, parseTimeRange, searchQuery } from '../../http/search.ts'
import { epochS } from '../../platform/clock.ts'
import { parseType } from '../wire.ts'
import { parseMacFilter } from '../inventory/wire.ts'
import type { DeviceCountQuery, DeviceHit, DeviceSearch, HitFilter } from './store.ts'

const text = Type.Optional(Type.String({ maxLength: 200 }))
const partOf = (what: string) =>
  Type.Optional(Type.String({ maxLength: 200, description: `part of ${what}, in any case` }))

const filters = {
  hostname: partOf('the name'),
  ip: Type.Optional(Type.String({ maxLength: 45 })),
  mac: text,
  model: text,
  version: text,
  mxtunnel_status: Type.Optional(
    Type.Enum(['down', 'up'], { description: 'no device has a tunnel: `up` matches none' }),
  ),
}

/** Accepted filters for which devices report no data; they match nothing. */
const unknown = {
  mxedge_id: text,
  lldp_mgmt_addr: text,
  lldp_port_id: text,
  lldp_system_desc: text,
  lldp_system_name: text,
}

const unknownToSearch = {
  ...unknown,
  band_24_bandwidth: text,
  band_24_channel: text,
  band_24_power: text,
  band_5_bandwidth: text,
  band_5_channel: text,
  band_5_power: text,
  band_6_bandwidth: text,
  band_6_channel: text,
  band_6_power: text,
  clustered: text,
  cpu: text,
  eth0_port_speed: text,
  evpntopo_id: text,
  last_config_status: text,
  lldp_power_allocated: text,
  lldp_power_draw: text,
  mxedge_ids: text,
  node: text,
  node0_mac: text,
  node1_mac: text,
  radius_stats: text,
  t128agent_version: text,
}

const sorts = ['timestamp', 'mac', 'name', 'hostname', 'model', 'site_id', 'serial'] as const
const Sort = Type.Optional(
  Type.Enum(
    sorts.flatMap((sort) => [sort, `-${sort}` as const]),
    { default: '-timestamp' },
  ),
)

const searchFilters = {
  ...searchQuery,
  ...pageQuery,
  ...filters,
  ...unknownToSearch,
  type: Type.Optional(Type.Enum(['all', 'ap', 'gateway', 'switch'], { default: 'ap' })),
  ext_ip: Type.Optional(Type.String({ maxLength: 45 })),
  last_hostname: partOf('the name'),
  power_constrained: Type.Optional(Type.Boolean({ description: 'no device is known to be: `true` matches none' })),
  sort: Sort,
}

/** Source: contract, `searchOrgDevices`. */
export const OrgDevicesSearch = Type.Object({ ...searchFilters, site_id: Type.Optional(Uuid) })
/** Source: contract, `searchSiteDevices`. */
export const SiteDevicesSearch = Type.Object({
  ...searchFilters,
  stats: Type.Optional(Type.Boolean({ description: 'what is known of a device is answered anyway' })),
  desc_sort: Type.Optional(Type.Enum(sorts, { description: 'as `sort` with a minus' })),
})

type SearchQuery = Static<typeof OrgDevicesSearch> & { readonly desc_sort?: (typeof sorts)[number] }

/** @throws AppError invalid naming the field. */
export function parseSearch(query: SearchQuery, now: Date, scope: SitesScope): DeviceSearch & TimeRange & Page {
  const sort = parseSort(query.desc_sort === undefined ? (query.sort ?? '-timestamp') : `-${query.desc_sort}`)
  return {
    ...parseTimeRange(query, now),
    ...parsePage(query),
    filter: {
      ...parseFilters(query, now, siteIdOf(scope)),
      hostnames: [query.hostname, query.last_hostname].filter((part) => part !== undefined),
      extIp: query.ext_ip ?? null,
      nothing: query.mxtunnel_status === 'up' || query.power_constrained === true || asksFor(query, unknownToSearch),
    },
    sort: { by: sortColumns[sort.by] ?? 'modified_at', direction: sort.direction },
  }
}

const sortColumns: Readonly<Record<string, DeviceSearch['sort']['by']>> = {
  timestamp: 'modified_at',
  mac: 'id',
  name: 'name',
  hostname: 'name',
  model: 'model',
  site_id: 'site_id',
  serial: 'serial',
}

type CommonQuery = Static<typeof OrgDevicesCount> | SearchQuery

function parseFilters(query: CommonQuery, now: Date, siteId: string | null): HitFilter {
  return {
    siteId: siteId ?? query.site_id ?? null,
    type: parseType(query.type),
    model: query.model ?? null,
    mac: parseMacFilter('mac', query.mac),
    version: query.version ?? null,
    ip: query.ip ?? null,
    hostnames: query.hostname === undefined ? [] : [query.hostname],
    extIp: null,
    mapId: null,
    managed: null,
    // Devices that were claimed after the range did not exist in it.
    createdUntil: untilOf(query.end, now),
    nothing: false,
  }
}

/** Null for a range that reaches to now, as most do: every present device existed in it. */
function untilOf(text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null
  const { end } = parseTimeRange({ end: text }, now)
  return end < now ? end : null
}

/** Zero means "not set", as everywhere. */
function asksFor(query: object, names: Readonly<Record<string, TSchema>>): boolean {
  return Object.keys(names).some((name) => ![undefined, '0'].includes(Reflect.get(query, name)))
}

const countFilters = { ...searchQuery, limit: pageQuery.limit, ...filters, ...unknown }
const unknownFields = ['lldp_mgmt_addr', 'lldp_port_id', 'lldp_system_desc', 'lldp_system_name', 'mxedge_id'] as const
const orgFields = ['hostname', 'ip', 'mac', 'model', 'mxtunnel_status', 'site_id', 'version', 'type', 'status'] as const
const siteFields = ['hostname', 'map_id', 'model', 'mxtunnel_status', 'version', 'type', 'status', 'mac', 'ip'] as const

/** Source: contract, `countOrgDevices`. */
export const OrgDevicesCount = Type.Object({
  ...countFilters,
  distinct: Type.Optional(Type.Enum([...orgFields, ...unknownFields], { default: 'model' })),
  type: Type.Optional(Type.Enum(['all', 'ap', 'gateway', 'switch'], { default: 'ap' })),
  site_id: Type.Optional(Uuid),
  managed: Type.Optional(Type.Boolean()),
})
/** Source: contract, `countSiteDevices`. */
export const SiteDevicesCount = Type.Object({
  ...countFilters,
  distinct: Type.Optional(Type.Enum([...siteFields, ...unknownFields], { default: 'model' })),
  type: Type.Optional(Type.Enum(['all', 'ap', 'gateway', 'switch'], { default: 'all' })),
  map_id: Type.Optional(Uuid),
})

type AnyCount = Omit<Static<typeof OrgDevicesCount>, 'distinct'> & {
  readonly distinct?: (typeof orgFields | typeof siteFields | typeof unknownFields)[number]
  readonly map_id?: string
}

/** @throws AppError invalid naming the field. */
export function parseCount(
  query: AnyCount,
  now: Date,
  scope: SitesScope,
): DeviceCountQuery & TimeRange & { readonly distinct: string } {
  const siteId = siteIdOf(scope)
  const distinct = query.distinct ?? 'model'
  return {
    ...parseTimeRange(query, now),
    distinct,
    field: countedColumns[distinct] ?? null,
    limit: parsePage(query).limit,
    filter: {
      ...parseFilters(query, now, siteId),
      type: parseType(query.type ?? (siteId === null ? 'ap' : 'all')),
      mapId: query.map_id ?? null,
      managed: query.managed ?? null,
      nothing: query.mxtunnel_status === 'up' || asksFor(query, unknown),
    },
  }
}

/** Fields that are missing here have no value for any device. */
const countedColumns: Readonly<Record<string, DeviceCountQuery['field']>> = {
  hostname: 'name',
  ip: 'ip',
  mac: 'mac',
  map_id: 'map_id',
  model: 'model',
  site_id: 'site_id',
  version: 'version',
  type: 'type',
  status: 'status',
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
    ...(type === 'ap' ? ofAccessPoint : { managed: managed === true, num_members: numMembers ?? 1 }),
    timestamp: epochS(hit.modifiedAt),
  }
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
