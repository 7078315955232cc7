import { type RawBuilder, sql } from 'kysely'
import type { Filters } from '../http/filters.ts'
import { type Column, unreported } from '../http/store-filters.ts'
import { deviceIdsFrom } from './device.ts'

/** A column of `device`, or of `status` (device_status), by which devices are filtered, sorted and counted. */
export interface DeviceColumn extends Column {
  readonly ofStatus?: true
}

/** The columns of the filters of a search for devices. */
export type DeviceFields<F extends Filters> = { readonly [Name in keyof F]: DeviceColumn | typeof unreported }

const name: DeviceColumn = { value: sql`device.name`, folded: sql`device.name_key` }
const connected: DeviceColumn = {
  value: sql`case when status.connected then 'connected' else 'disconnected' end`,
  ofStatus: true,
}

/**
 * The fields of devices under their names on the wire. A field that devices begin to report takes its column here
 * instead of `unreported`.
 */
export const deviceFields = {
  mac: { value: sql`device.mac`, startsWith: macsFrom },
  serial: { value: sql`device.serial` },
  model: { value: sql`device.model` },
  type: { value: sql`device.type` },
  site_id: { value: sql`device.site_id` },
  org_id: { value: sql`device.org_id` },
  name,
  hostname: name,
  last_hostname: name,
  magic: { value: sql`device.claim_code` },
  map_id: { value: sql`lower(device.doc ->> 'map_id')` },
  managed: { value: sql`coalesce(device.doc ->> 'managed' = 'true', false)` },
  timestamp: { value: sql`device.modified_at` },
  modified_after: { value: sql`device.modified_at` },
  disconnected_before: { value: sql`case when not status.connected then status.disconnected_at end`, ofStatus: true },
  created_time: { value: sql`device.created_at` },
  status: connected,
  version: { value: sql`status.firmware`, ofStatus: true },
  ip: { value: sql`status.load ->> 'ip'`, ofStatus: true },
  ext_ip: { value: sql`status.ext_ip`, ofStatus: true },
  last_seen: { value: sql`status.last_seen_at`, ofStatus: true },
  uptime: { value: sql`case when status.connected then - extract(epoch from status.booted_at) end`, ofStatus: true },
  num_members: { value: sql`coalesce(jsonb_array_length(status.members), 1)`, ofStatus: true },
  // No device has a tunnel, and none is known to lack power or to be fit for a topology.
  mxtunnel_status: { value: sql`'down'::text` },
  power_constrained: { value: sql`false` },
  evpn_unused: { value: sql`false` },
  clustered: unreported,
  cpu: unreported,
  eth0_port_speed: unreported,
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
  band_24_bandwidth: unreported,
  band_24_channel: unreported,
  band_24_power: unreported,
  band_5_bandwidth: unreported,
  band_5_channel: unreported,
  band_5_power: unreported,
  band_6_bandwidth: unreported,
  band_6_channel: unreported,
  band_6_power: unreported,
  lldp_mgmt_addr: unreported,
  lldp_port_id: unreported,
  lldp_power_allocated: unreported,
  lldp_power_draw: unreported,
  lldp_system_desc: unreported,
  lldp_system_name: unreported,
} satisfies Readonly<Record<string, DeviceColumn | typeof unreported>>

/** The ids of devices contain their MACs, and every index on devices has them. */
function macsFrom(prefix: string): RawBuilder<unknown> {
  const [first, last] = deviceIdsFrom(prefix)
  return sql`device.id between ${first} and ${last}`
}
