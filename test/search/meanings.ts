import type { AnyJson } from '../support/contract/any-json.ts'

/** Returns a row's value for a filter; a list if any of its values may match, undefined if it has none. */
export type ValueOf = (row: AnyJson) => AnyJson

/**
 * The meaning of a query parameter: `whole` compares a text, `part` finds it anywhere in any case, `mac` in any
 * spelling, `id` and `choice` compare values, `none` matches no row, `same` has no effect, `refused` is a 400 that
 * names it.
 */
export type Meaning =
  | {
      readonly kind: 'whole' | 'part' | 'mac' | 'id' | 'choice'
      readonly of: ValueOf
      /** False: a comma belongs to the text. */
      readonly list?: boolean
      /** True: texts that no row may have are refused. */
      readonly known?: boolean
    }
  | { readonly kind: 'is'; readonly value: string; readonly matches: (row: AnyJson) => boolean }
  | { readonly kind: 'none'; readonly value: string }
  | { readonly kind: 'same'; readonly value: string }
  | { readonly kind: 'refused'; readonly value: string }

export type Meanings = Readonly<Record<string, Meaning>>

const field =
  (name: string): ValueOf =>
  (row) =>
    row[name]
const whole = (name: string): Meaning => ({ kind: 'whole', of: field(name) })
const part = (name: string): { kind: 'part'; of: ValueOf } => ({ kind: 'part', of: field(name) })
const mac = (name: string): Meaning => ({ kind: 'mac', of: field(name) })
const id = (name: string): Meaning => ({ kind: 'id', of: field(name) })
const choice = (name: string): Meaning => ({ kind: 'choice', of: field(name) })
const none = (value: string): Meaning => ({ kind: 'none', value })
const same = (value: string): Meaning => ({ kind: 'same', value })
const is = (value: string, matches: (row: AnyJson) => boolean): Meaning => ({ kind: 'is', value, matches })

const someId = '5b8d4f51-6f4c-4d55-8f3c-2c53ad3d3b2f'
/** Access points are answered without a type. */
export const typeOf: ValueOf = (row) => row.type ?? 'ap'
export const nameOf: ValueOf = (row) => row.last_hostname ?? row.name

const reported: Meanings = {
  ...Object.fromEntries(
    ['24', '5', '6'].flatMap((band) =>
      ['bandwidth', 'channel', 'power'].map(
        (what) => [`band_${band}_${what}`, choice(`band_${band}_${what}`)] as const,
      ),
    ),
  ),
  // Searches do not answer it: the device of this name reported 12.4.
  cpu: is('1*', (row) => nameOf(row) === 'Lobby'),
  eth0_port_speed: choice('eth0_port_speed'),
  lldp_mgmt_addr: whole('lldp_mgmt_addr'),
  lldp_port_id: whole('lldp_port_id'),
  lldp_system_desc: { kind: 'whole', of: field('lldp_system_desc'), list: false },
  lldp_system_name: whole('lldp_system_name'),
}

const unreported: Meanings = {
  clustered: is('true', (row) => row.num_members > 1),
  evpntopo_id: none(someId),
  last_config_status: none('ok'),
  lldp_power_allocated: none('15.4'),
  lldp_power_draw: none('15.4'),
  mxedge_id: none(someId),
  mxedge_ids: none(`${someId},${someId}`),
  node: none('node0'),
  node0_mac: none('00*'),
  node1_mac: none('00*'),
  power_constrained: is('false', (row) => typeOf(row) === 'ap'),
  mxtunnel_status: is('down', (row) => typeOf(row) === 'ap'),
  radius_stats: none('*'),
  t128agent_version: none('1*'),
}

export const deviceMeanings: Meanings = {
  ...reported,
  ...unreported,
  hostname: { kind: 'part', of: nameOf },
  last_hostname: { kind: 'part', of: nameOf },
  name: { kind: 'part', of: nameOf },
  ip: whole('ip'),
  ext_ip: whole('ext_ip'),
  mac: mac('mac'),
  model: whole('model'),
  serial: whole('serial'),
  version: whole('version'),
  site_id: id('site_id'),
  type: { kind: 'choice', of: typeOf },
  status: choice('status'),
  managed: is('true', (row) => row.managed === true),
  evpn_unused: none('true'),
  stats: same('true'),
  fields: same('*'),
  start: same('-1h'),
  end: same('now'),
  duration: same('1h'),
}

export const inventoryMeanings: Meanings = {
  ...deviceMeanings,
  magic: whole('magic'),
  ssr: is('true', (row) => row.ssr === true),
  sku: whole('sku'),
  master: is('true', (row) => row.master === true || row.vc_mac === row.mac),
  vc_mac: mac('vc_mac'),
  master_mac: mac('vc_mac'),
  text: { kind: 'part', of: (row) => [row.name, row.mac, row.serial, row.model], list: false },
  vc: same('false'),
  unassigned: is('true', (row) => row.site_id === undefined),
  modified_after: is('99999999999', () => false),
  disconnected_before: is('99999999999', (row) => row.last_disconnected !== undefined),
}

export const eventMeanings: Meanings = {
  mac: mac('mac'),
  ap: mac('ap'),
  text: { ...part('text'), list: false },
  type: whole('type'),
  device_type: choice('device_type'),
  site_id: id('site_id'),
  timestamp: is('99999999999', () => false),
  // Each event has a unique id; `http/devices/device-events.test.ts` covers other fields.
  last_by: same('id'),
  includes: same('ext_tunnel'),
  apfw: whole('apfw'),
  type_code: none('1'),
}

const on = (name: string): Meaning => ({ kind: 'choice', of: (row) => String(row[name]) })
const off = (name: string): Meanings => ({ [name]: none('true') })

export const siteMeanings: Meanings = {
  id: id('id'),
  name: part('name'),
  country_code: whole('country_code'),
  auto_upgrade_version: whole('auto_upgrade_version'),
  auto_upgrade_enabled: on('auto_upgrade_enabled'),
  honeypot_enabled: on('honeypot_enabled'),
  vna_enabled: on('vna_enabled'),
  wifi_enabled: on('wifi_enabled'),
  rtsa_enabled: is('true', (row) => row.name === 'Here, north'),
  ...off('analytic_enabled'),
  ...off('app_waking'),
  ...off('asset_enabled'),
  ...off('locate_unconnected'),
  ...off('mesh_enabled'),
  ...off('remote_syslog_enabled'),
  ...off('rogue_enabled'),
}

export const edgeMeanings: Meanings = {
  mxedge_id: id('id'),
  site_id: id('site_id'),
  mxcluster_id: id('mxcluster_id'),
  model: whole('model'),
  hostname: part('name'),
  distro: none('bookworm'),
  tunterm_version: none('1*'),
  stats: same('true'),
  sort: same('model'),
  for_site: is('true', (row) => row.site_id !== undefined),
  start: same('-1h'),
  end: same('now'),
  duration: same('1h'),
}

export const systemEventMeanings: Meanings = { type: whole('type'), scope: choice('scope') }

export const alarmMeanings: Meanings = {
  type: whole('type'),
  group: choice('group'),
  severity: choice('severity'),
  status: choice('status'),
  acked: on('acked'),
  ack_admin_name: part('ack_admin_name'),
  site_id: id('site_id'),
}

export const edgeEventMeanings: Meanings = {
  mxedge_id: id('mxedge_id'),
  mxcluster_id: id('mxcluster_id'),
  type: whole('type'),
  service: whole('service'),
  component: whole('component'),
}

export const logMeanings: Meanings = {
  site_id: id('site_id'),
  admin_id: id('admin_id'),
  admin_name: part('admin_name'),
  message: part('message'),
}

export const deliveryMeanings: Meanings = {
  error: { ...part('error'), list: false },
  status: choice('status'),
  topic: { kind: 'whole', of: field('topic'), known: true },
  status_code: { kind: 'choice', of: (row) => row.status_code },
}
