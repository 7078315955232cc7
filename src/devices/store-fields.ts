import { type RawBuilder, sql } from 'kysely'
import type { Filters } from '../http/lists/filters.ts'
import { type Column, unreported } from '../http/lists/store-filters.ts'
import { deviceIdsFrom } from './device.ts'
import { modelPatterns } from './registry/models.ts'

/**
 * Tables that are joined to `device` only where a column of theirs is needed: device_status, _disconnection, _version,
 * _fact, _summary and _hardware.
 */
export type Joined = 'status' | 'disconnection' | 'version' | 'fact' | 'summary' | 'hardware'

/** A column of `device`, or of a joined table, by which devices are filtered, sorted and counted. */
export interface DeviceColumn extends Column {
  readonly of?: Joined
  /** The value of devices without a row in the joined table. Absent: they have none. */
  readonly absent?: string
  /** The name of the field in the counters of values; absent if they don't count it. See migration 94. */
  readonly counter?: string
  /**
   * True if every device has a value. A sort by any other column puts devices without one last, in either direction.
   */
  readonly always?: true
  /** True if its index is on prefixes, hence ordered by bytes. */
  readonly byBytes?: true
  /** True if ascending order lists devices by descending values. */
  readonly falls?: true
  /** Groups of devices in ascending order, for a column without an index in which nearly all have one value. */
  readonly groups?: readonly DeviceGroup[]
}

/** Devices that stand together in a list that is sorted by a column. */
export interface DeviceGroup {
  readonly where: RawBuilder<unknown>
  /** The expression that orders them; absent: they are equal. */
  readonly by?: RawBuilder<unknown>
  /** True if they have no value and hence come last in either direction. */
  readonly isLast?: true
  /** True if they have no row in the joined table, and a value nevertheless. */
  readonly isAbsent?: true
  /** True if they are the few Virtual Chassis, which an index on their status covers. */
  readonly isChassis?: true
}

/** The columns of the filters of a search for devices. */
export type DeviceFields<F extends Filters> = { readonly [Name in keyof F]: DeviceColumn | typeof unreported }

const name: DeviceColumn = { value: sql`device.name`, folded: sql`device.name_key`, byBytes: true }

/** The few devices that are a Virtual Chassis: only their status contains members. An index has them. */
export const hasMembers = sql`jsonb_array_length(status.members) > 1`

const isConnected = sql`disconnection.device_id is null`
const isDisconnected = sql`disconnection.device_id is not null`

/** The device of a version is not connected. */
const isDown = sql`exists (
  select from device_disconnection down where down.org_id = version.org_id and down.device_id = version.device_id)`

const isManaged = sql`device.doc ->> 'managed' = 'true'`

/** Clients know these fields only for access points, and each access point has the same value. */
const sameOfAccessPoints: readonly DeviceGroup[] = [
  { where: sql`device.type = 'ap'` },
  { where: sql`device.type <> 'ap'`, isLast: true },
]
const notClustered: DeviceGroup = { where: sql`(${hasMembers}) is not true` }
/** Ids are in the order of MACs. */
const chassisFirst: readonly DeviceGroup[] = [
  { where: hasMembers, isChassis: true },
  { ...notClustered, isLast: true },
]

/**
 * The fields of devices under their names on the wire. When devices begin to report a field, its column replaces
 * `unreported` here.
 */
export const deviceFields = {
  mac: { value: sql`device.mac`, startsWith: macsFrom, always: true },
  serial: { value: sql`device.serial`, always: true, byBytes: true },
  model: { value: sql`device.model`, always: true },
  type: { value: sql`device.type`, always: true },
  site_id: { value: sql`device.site_id` },
  org_id: { value: sql`device.org_id`, always: true, groups: [{ where: sql`true` }] },
  name,
  hostname: name,
  last_hostname: name,
  magic: { value: sql`device.claim_code` },
  map_id: { value: sql`lower(device.doc ->> 'map_id')` },
  managed: {
    value: sql`coalesce(${isManaged}, false)`,
    always: true,
    groups: [{ where: sql`(${isManaged}) is not true` }, { where: isManaged }],
  },
  timestamp: { value: sql`device.modified_at`, always: true },
  modified_after: { value: sql`device.modified_at` },
  disconnected_before: { value: sql`disconnection.disconnected_at`, of: 'disconnection' },
  created_time: { value: sql`device.created_at`, always: true },
  status: {
    value: sql`case when ${isConnected} then 'connected' else 'disconnected' end`,
    isAnyOf: haveStatus,
    of: 'disconnection',
    absent: 'connected',
    counter: 'status',
    always: true,
    groups: [{ where: isConnected, isAbsent: true }, { where: isDisconnected }],
  },
  version: { value: sql`version.firmware`, of: 'version', counter: 'version', byBytes: true },
  ip: { value: sql`fact.ip`, of: 'fact', byBytes: true },
  ext_ip: { value: sql`fact.ext_ip`, of: 'fact', byBytes: true },
  last_seen: { value: sql`status.last_seen_at`, of: 'status' },
  uptime: {
    value: sql`case when not ${isDown} then version.booted_at end`,
    of: 'version',
    falls: true,
    groups: [
      { where: sql`version.booted_at is not null and not ${isDown}`, by: sql`version.booted_at` },
      { where: sql`(version.booted_at is null or ${isDown})`, isLast: true },
    ],
  },
  num_members: {
    value: sql`coalesce(jsonb_array_length(status.members), 1)`,
    of: 'status',
    always: true,
    groups: [notClustered, { where: hasMembers, by: sql`jsonb_array_length(status.members)`, isChassis: true }],
  },
  // No access point has a tunnel or is known to lack power, and no device is known to be fit for a topology.
  mxtunnel_status: { value: sql`case when device.type = 'ap' then 'down' end`, groups: sameOfAccessPoints },
  power_constrained: { value: sql`case when device.type = 'ap' then false end`, groups: sameOfAccessPoints },
  power_opmode: { value: sql`case when device.type = 'ap' then '' end`, groups: sameOfAccessPoints },
  evpn_unused: { value: sql`false` },
  clustered: {
    value: sql`(coalesce(jsonb_array_length(status.members), 1) > 1)`,
    isAnyOf: areClustered,
    of: 'status',
    always: true,
    groups: [notClustered, { where: hasMembers, isChassis: true }],
  },
  vc_mac: { value: sql`case when ${hasMembers} then device.mac end`, of: 'status', groups: chassisFirst },
  master: { value: sql`case when ${hasMembers} then true end`, of: 'status', groups: chassisFirst },
  cpu: { value: sql`round((status.load ->> 'cpu_percent')::numeric)::text`, of: 'status' },
  eth0_port_speed: { ...inSummary('eth0_port_speed'), counter: 'eth0_port_speed' },
  lldp_port_desc: { ...inSummary('lldp_port_desc'), byBytes: true },
  evpntopo_id: unreported,
  last_config_status: unreported,
  mxedge_id: unreported,
  mxedge_ids: unreported,
  node: unreported,
  node0_mac: unreported,
  node1_mac: unreported,
  radius_stats: unreported,
  ssr: ssrOf(sql`device.model`),
  sku: { value: sql`hardware.sku`, of: 'hardware', byBytes: true },
  t128agent_version: unreported,
  band_24_bandwidth: { ...inSummary('band24_bandwidth'), counter: 'band_24_bandwidth' },
  band_24_channel: { ...inSummary('band24_channel'), counter: 'band_24_channel' },
  band_24_power: { ...inSummary('band24_power'), counter: 'band_24_power' },
  band_5_bandwidth: { ...inSummary('band5_bandwidth'), counter: 'band_5_bandwidth' },
  band_5_channel: { ...inSummary('band5_channel'), counter: 'band_5_channel' },
  band_5_power: { ...inSummary('band5_power'), counter: 'band_5_power' },
  band_6_bandwidth: { ...inSummary('band6_bandwidth'), counter: 'band_6_bandwidth' },
  band_6_channel: { ...inSummary('band6_channel'), counter: 'band_6_channel' },
  band_6_power: { ...inSummary('band6_power'), counter: 'band_6_power' },
  lldp_mgmt_addr: { ...inSummary('lldp_mgmt_addr'), counter: 'lldp_mgmt_addr', byBytes: true },
  lldp_port_id: { ...inSummary('lldp_port_id'), counter: 'lldp_port_id', byBytes: true },
  lldp_power_allocated: unreported,
  lldp_power_draw: unreported,
  lldp_system_desc: { ...inSummary('lldp_system_desc'), counter: 'lldp_system_desc', byBytes: true },
  lldp_system_name: { ...inSummary('lldp_system_name'), counter: 'lldp_system_name', byBytes: true },
} satisfies Readonly<Record<string, DeviceColumn | typeof unreported>>

function haveStatus(values: readonly string[]): RawBuilder<unknown> {
  const known = [
    ...(values.includes('connected') ? [isConnected] : []),
    ...(values.includes('disconnected') ? [isDisconnected] : []),
  ]
  return known.length === 0 ? sql`false` : sql`(${sql.join(known, sql` or `)})`
}

function areClustered(values: readonly string[]): RawBuilder<unknown> {
  if (values.length > 1) return sql`true`
  return values.includes('true') ? sql`(${hasMembers})` : sql`((${hasMembers}) is not true)`
}

/** Whether it is an SSR router. @param model That of a device, or of one of its members. */
export function ssrOf(model: RawBuilder<unknown>) {
  const value = sql`(device.type = 'gateway' and ${model} ~* ${modelPatterns.ssr})`
  return {
    value,
    // An index has the gateways.
    isAnyOf: (values: readonly string[]) =>
      values.length > 1 ? sql`true` : values.includes('true') ? value : sql`not ${value}`,
  }
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
