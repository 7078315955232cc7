import { NO_ID } from '../../http/schemas.ts'
import {
  type Band,
  type Counters,
  type Interface,
  type Neighbor,
  type Port,
  type Radio,
  type Rates,
  type Telemetry,
  bands,
} from './telemetry.ts'
import { neighborAt, uplinkOf } from './summary.ts'
import { trafficOf } from './traffic.ts'
import { withoutUndefined } from '../../platform/records.ts'

type Report = Omit<Telemetry, 'wireless' | 'wired'>
type Shown = Record<string, unknown>

export interface ReportedDevice {
  readonly orgId: string
  readonly siteId: string | null
  readonly mac: string
  readonly report: Report
  /** False if the rates are of the past: the device is disconnected, or has started since. */
  readonly isLive: boolean
}

/** Presents the fields that the last report adds to the statistics of an access point. Source: contract, `stats_ap`. */
export function presentApReport(device: ReportedDevice): Shown {
  const { report } = device
  const { unit, radios, ports, neighbors } = report
  const uplink = uplinkOf(report)
  const neighbor = uplink === null ? null : neighborAt(report, uplink)
  const byPort = neighbors.map((one) => [one.port, presentNeighbor(one)] as const)
  return {
    ...withoutRates(trafficOf(report), device),
    ...(unit.num_clients !== undefined && { num_clients: unit.num_clients }),
    ...(unit.num_wlans !== undefined && { num_wlans: unit.num_wlans }),
    ...(unit.temperature !== undefined && { env_stat: { cpu_temp: unit.temperature } }),
    ...(radios.length > 0 && { radio_stat: presentRadios(radios) }),
    ...(ports.length > 0 && { port_stat: Object.fromEntries(ports.map((port) => [port.id, presentApPort(port)])) }),
    ...presentAddresses(report),
    ...(neighbor !== null && { lldp_stat: presentNeighbor(neighbor) }),
    ...(neighbors.length > 0 && { lldp_stats: Object.fromEntries(byPort) }),
  }
}

/** Does the same as presentApReport() for a switch or a gateway. Source: contract, `stats_switch`, `stats_gateway`. */
export function presentWiredReport(device: ReportedDevice): Shown {
  const { unit, ports, interfaces, neighbors } = device.report
  const wired = { total: { num_wired_clients: unit.num_wired } }
  return {
    ...presentAddresses(device.report),
    ...(ports.length > 0 && { ports: ports.map((port) => presentPort(port, { device, neighbors })) }),
    ...(ports.length + interfaces.length > 0 && { if_stat: presentInterfaces(ports, interfaces) }),
    ...(unit.num_wired !== undefined && { clients_stats: wired }),
    ...(unit.num_macs !== undefined && { mac_table_stats: { mac_table_count: unit.num_macs } }),
  }
}

/** Radios in one band are shown as one: the settings of the first, with the clients and the traffic of all. */
function presentRadios(radios: readonly Radio[]): Shown {
  const byBand = bands.flatMap((band) => {
    const inBand = radios.filter((radio) => radio.band === band)
    return inBand.length === 0 ? [] : [[`band_${band}`, presentRadio(band, inBand)] as const]
  })
  return Object.fromEntries(byBand)
}

const sums = ['rx_bytes', 'tx_bytes', 'rx_pkts', 'tx_pkts'] as const

function presentRadio(band: Band, radios: readonly Radio[]): Shown {
  const { channel, bandwidth, power, noise_floor, bssids, util_all, util_tx, util_non_wifi } = radios[0] ?? {}
  const sumOf = (valueOf: (radio: Radio) => number): number => radios.reduce((sum, radio) => sum + valueOf(radio), 0)
  const counted = sums.filter((name) => radios.some((radio) => radio[name] !== undefined))
  return withoutUndefined({
    usage: band,
    channel,
    bandwidth,
    power,
    noise_floor,
    mac: bssids?.[0],
    num_clients: sumOf(({ num_clients }) => num_clients),
    num_wlans: sumOf(({ num_wlans }) => num_wlans),
    util_all,
    util_tx,
    util_non_wifi,
    ...Object.fromEntries(counted.map((name) => [name, sumOf((radio) => radio[name] ?? 0)])),
  })
}

function presentApPort({ up, speed, full_duplex, rx_errors, ...port }: Port): Shown {
  const { rx_bytes, tx_bytes, rx_pkts, tx_pkts } = port
  return withoutUndefined({ up, speed, full_duplex, rx_bytes, tx_bytes, rx_pkts, tx_pkts, rx_errors })
}

interface PortPlace {
  readonly device: ReportedDevice
  readonly neighbors: readonly Neighbor[]
}

/** Clients require the addresses and the site: empty texts and zeros mean "not reported". */
function presentPort({ id, ...port }: Port, { device, neighbors }: PortPlace): Shown {
  const neighbor = neighborAt({ neighbors }, { id })
  return {
    org_id: device.orgId,
    site_id: device.siteId ?? NO_ID,
    mac: device.mac,
    port_id: id,
    port_mac: '',
    for_site: true,
    ...(port.up !== undefined && { active: port.up }),
    ...withoutRates(port, device),
    neighbor_mac: neighbor?.mac ?? '',
    ...withoutUndefined({ neighbor_system_name: neighbor?.system_name, neighbor_port_desc: neighbor?.port_desc }),
  }
}

function withoutRates(counted: Counters & Rates, { isLive }: ReportedDevice): object {
  const { rx_bps: _rx, tx_bps: _tx, ...rest } = counted
  return isLive ? counted : rest
}

function presentInterfaces(ports: readonly Port[], interfaces: readonly Interface[]): Shown {
  const ofPorts = ports.map(({ id, up, rx_bytes, tx_bytes, rx_pkts, tx_pkts }) => {
    return [id, withoutUndefined({ port_id: id, up, rx_bytes, tx_bytes, rx_pkts, tx_pkts })] as const
  })
  const others = interfaces.map(({ name, vlan, ips, rx_bytes, tx_bytes, rx_pkts, tx_pkts }) => {
    return [name, withoutUndefined({ port_id: name, vlan, ips, rx_bytes, tx_bytes, rx_pkts, tx_pkts })] as const
  })
  return Object.fromEntries([...ofPorts, ...others])
}

/** The addresses of the first interface that has any, and those of all by interface. */
function presentAddresses({ unit, interfaces }: Report): Shown {
  const addressed = interfaces.filter(({ ips }) => ips.length > 0)
  const [first] = addressed
  if (first === undefined) return {}
  const [v4, v6] = [first.ips.find((ip) => !ip.includes(':')), first.ips.find((ip) => ip.includes(':'))]
  const [ip, bits] = v4?.split('/') ?? []
  const [ip6, bits6] = v6?.split('/') ?? []
  return {
    ip_stat: withoutUndefined({
      ip,
      netmask: bits === undefined ? undefined : netmaskOf(Number(bits)),
      gateway: unit.gateway,
      ip6,
      netmask6: bits6 === undefined ? undefined : `/${bits6}`,
      dns: first.dns,
      dhcp_server: first.dhcp_server,
      ips: Object.fromEntries(addressed.map(({ name, ips }) => [name, ips.join(',')])),
    }),
  }
}

function netmaskOf(bits: number): string {
  return [0, 8, 16, 24].map((before) => 256 - 2 ** (8 - Math.min(8, Math.max(0, bits - before)))).join('.')
}

function presentNeighbor({ chassis_id, system_name, system_desc, port_id, port_desc, mgmt_addrs }: Neighbor): Shown {
  return withoutUndefined({
    chassis_id,
    system_name,
    system_desc,
    port_id,
    port_desc,
    mgmt_addr: mgmt_addrs[0],
    mgmt_addrs: mgmt_addrs.length === 0 ? undefined : mgmt_addrs,
  })
}
