import { choice, flag, id, mac, number, part, text } from '../../http/lists/filters.ts'
import { typeFilter } from '../filters.ts'

const common = {
  hostname: part(),
  ip: text(),
  mac: mac(),
  model: text(),
  version: text(),
  mxtunnel_status: choice(['down', 'up'], { about: 'no device has a tunnel: `up` matches none', anyText: true }),
  mxedge_id: id(),
  lldp_mgmt_addr: text(),
  lldp_port_id: text(),
  lldp_system_desc: text({ list: false }),
  lldp_system_name: text(),
}

/** Source: contract, `searchSiteDevices`. */
export const siteSearchFilters = {
  ...common,
  type: typeFilter('ap'),
  ext_ip: text(),
  last_hostname: part(),
  power_constrained: flag({ about: 'no device is known to be: `true` matches none' }),
  band_24_bandwidth: number(),
  band_24_channel: number(),
  band_24_power: number(),
  band_5_bandwidth: number(),
  band_5_channel: number(),
  band_5_power: number(),
  band_6_bandwidth: number(),
  band_6_channel: number(),
  band_6_power: number(),
  clustered: flag({ anyText: true }),
  cpu: text(),
  eth0_port_speed: number(),
  evpntopo_id: id(),
  last_config_status: text(),
  lldp_power_allocated: number({ integer: false }),
  lldp_power_draw: number({ integer: false }),
  mxedge_ids: id(),
  node: text({ about: '`node0` or `node1`; no device is known to be one: matches none' }),
  node0_mac: mac(),
  node1_mac: mac(),
  radius_stats: text({ list: false }),
  t128agent_version: text(),
}

/** Source: contract, `searchOrgDevices`. */
export const orgSearchFilters = { ...siteSearchFilters, site_id: id() }

/** The fields of search results that access points report, by their names on the wire. */
export const summaryFields = [
  'band_24_bandwidth',
  'band_24_channel',
  'band_24_power',
  'band_5_bandwidth',
  'band_5_channel',
  'band_5_power',
  'band_6_bandwidth',
  'band_6_channel',
  'band_6_power',
  'eth0_port_speed',
  'lldp_mgmt_addr',
  'lldp_port_desc',
  'lldp_port_id',
  'lldp_system_desc',
  'lldp_system_name',
] as const

/** The fields by which clients may sort; `name` is an alias that clients use. */
export const searchSorts = [
  'timestamp',
  'mac',
  'model',
  'serial',
  'sku',
  'type',
  'org_id',
  'site_id',
  'name',
  'hostname',
  'last_hostname',
  'status',
  'version',
  'ip',
  'ext_ip',
  'uptime',
  'last_seen',
  'managed',
  'num_members',
  'mxtunnel_status',
  'power_constrained',
  'power_opmode',
  'clustered',
  ...summaryFields,
] as const

/** Source: contract, `countSiteDevices`. */
export const siteCountFilters = { ...common, type: typeFilter('all'), map_id: id() }

/** Source: contract, `countOrgDevices`. */
export const orgCountFilters = { ...common, type: typeFilter('ap'), site_id: id(), managed: flag({ anyText: true }) }

const counts = [
  'hostname',
  'ip',
  'lldp_mgmt_addr',
  'lldp_port_id',
  'lldp_system_desc',
  'lldp_system_name',
  'mac',
  'model',
  'mxedge_id',
  'mxtunnel_status',
  'status',
  'type',
  'version',
] as const

export const orgCounts = [...counts, 'site_id'] as const
export const siteCounts = [...counts, 'map_id'] as const
