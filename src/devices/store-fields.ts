import { type RawBuilder, sql } from 'kysely'
import type { Filters } from '../http/filters.ts'
import { type Column, unreported } from '../http/store-filters.ts'
import { deviceIdsFrom } from './device.ts'

/**
 * Tables that are joined to `device` only where a column of theirs is needed: device_status, _connection, _fact and
 * _summary.
 */
export type Joined = 'status' | 'connection' | 'fact' | 'summary'

/** A column of `device`, or of a joined table, by which devices are filtered, sorted and counted. */
export interface DeviceColumn extends Column {
  readonly of?: Joined
  /** Whether every device has a value. A sort by any other column puts those without one last, in either direction. */
  readonly always?: true
}

/** The columns of the filters of a search for devices. */
export type DeviceFields<F extends Filters> = { readonly [Name in keyof F]: DeviceColumn | typeof unreported }

const name: DeviceColumn = { value: sql`device.name`, folded: sql`device.name_key` }

/** The few devices that are a Virtual Chassis: only their status contains members. An index has them. */
export const hasMembers = sql`jsonb_array_length(status.members) > 1`

/**
 * The fields of devices under their names on the wire. A field that devices begin to report takes its column here
 * instead of `unreported`.
 */
export const deviceFields = {
  mac: { value: sql`device.mac`, startsWith: macsFrom, always: true },
  serial: { value: sql`device.serial`, always: true },
  model: { value: sql`device.model`, always: true },
  type: { value: sql`device.type`, always: true },
  site_id: { value: sql`device.site_id` },
  org_id: { value: sql`device.org_id`, always: true },
  name,
  hostname: name,
  last_hostname: name,
  magic: { value: sql`device.claim_code` },
  map_id: { value: sql`lower(device.doc ->> 'map_id')` },
  managed: { value: sql`coalesce(device.doc ->> 'managed' = 'true', false)` },
  timestamp: { value: sql`device.modified_at`, always: true },
  modified_after: { value: sql`device.modified_at` },
  disconnected_before: { value: sql`connection.disconnected_at`, of: 'connection' },
  created_time: { value: sql`device.created_at`, always: true },
  status: { value: sql`connection.status`, of: 'connection', always: true },
  version: { value: sql`fact.firmware`, of: 'fact' },
  ip: { value: sql`fact.ip`, of: 'fact' },
  ext_ip: { value: sql`fact.ext_ip`, of: 'fact' },
  last_seen: { value: sql`status.last_seen_at`, of: 'status' },
  uptime: { value: sql`case when status.connected then - extract(epoch from status.booted_at) end`, of: 'status' },
  num_members: { value: sql`coalesce(jsonb_array_length(status.members), 1)`, of: 'status' },
  // No access point has a tunnel or is known to lack power, and no device is known to be fit for a topology.
  mxtunnel_status: { value: sql`case when device.type = 'ap' then 'down' end` },
  power_constrained: { value: sql`case when device.type = 'ap' then false end` },
  power_opmode: { value: sql`case when device.type = 'ap' then '' end` },
  evpn_unused: { value: sql`false` },
  clustered: { value: sql`(coalesce(jsonb_array_length(status.members), 1) > 1)`, isAnyOf: areClustered, of: 'status' },
  vc_mac: { value: sql`case when ${hasMembers} then device.mac end`, of: 'status' },
  master: { value: sql`case when ${hasMembers} then true end`, of: 'status' },
  cpu: { value: sql`round((status.load ->> 'cpu_percent')::numeric)::text`, of: 'status' },
  eth0_port_speed: inSummary('eth0_port_speed'),
  lldp_port_desc: inSummary('lldp_port_desc'),
  evpntopo_id: unreported,
  last_config_status: unreported,
  mxedge_id: unreported,
  mxedge_ids: unreported,
  node: unreported,
  node0_mac: unreported,
  node1_mac: unreported,
  radius_stats: unreported,
  sku: unreported,
  t128agent_version: unreported,
  band_24_bandwidth: inSummary('band24_bandwidth'),
  band_24_channel: inSummary('band24_channel'),
  band_24_power: inSummary('band24_power'),
  band_5_bandwidth: inSummary('band5_bandwidth'),
  band_5_channel: inSummary('band5_channel'),
  band_5_power: inSummary('band5_power'),
  band_6_bandwidth: inSummary('band6_bandwidth'),
  band_6_channel: inSummary('band6_channel'),
  band_6_power: inSummary('band6_power'),
  lldp_mgmt_addr: inSummary('lldp_mgmt_addr'),
  lldp_port_id: inSummary('lldp_port_id'),
  lldp_power_allocated: unreported,
  lldp_power_draw: unreported,
  lldp_system_desc: inSummary('lldp_system_desc'),
  lldp_system_name: inSummary('lldp_system_name'),
} satisfies Readonly<Record<string, DeviceColumn | typeof unreported>>

function areClustered(values: readonly string[]): RawBuilder<unknown> {
  if (values.length > 1) return sql`true`
  return values.includes('true') ? sql`(${hasMembers})` : sql`((${hasMembers}) is not true)`
}

/** A column of device_summary. */
function inSummary(of: string): DeviceColumn {
  return { value: sql.ref(`summary.${of}`), of: 'summary' }
}

/** The ids of devices contain their MACs, and every index on devices has them. */
function macsFrom(prefix: string): RawBuilder<unknown> {
  const [first, last] = deviceIdsFrom(prefix)
  return sql`device.id between ${first} and ${last}`
}
