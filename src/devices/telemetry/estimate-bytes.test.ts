import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimateBytes } from './estimate-bytes.ts'
import { type Telemetry, telemetryLimits } from './telemetry.ts'

const { name, description, addresses, bssids } = telemetryLimits
const counters = { rx_bytes: 2 ** 45, tx_bytes: 2 ** 45, rx_pkts: 2 ** 32, tx_pkts: 2 ** 32 }
const mac = 'aabbccddee01'

/** Entries with all members. Texts have the length that `text` gives those that may have as many characters. */
function telemetryOf(text: (limit: number) => string, count: number): Telemetry {
  const times = <T>(entry: T): T[] => Array.from({ length: count }, () => entry)
  const ip = '2001:db8:1234:5678::1/64'
  return {
    unit: { uptime_s: 1e7, cpu_percent: 12.5, memory_total: 2 ** 30, memory_free: 2 ** 29, num_clients: 200 },
    radios: times({
      ...counters,
      ...{ band: '5', channel: 149, bandwidth: 160, power: 20, noise_floor: -102 },
      ...{ bssids: [mac, mac, mac, mac], num_clients: 99, num_wlans: 4 },
      ...{ airtime: { active: 1e9, busy: 1e8, rx: 1e7, tx: 1e7 }, util_all: 12, util_tx: 3, util_non_wifi: 4 },
    }),
    ports: times({
      ...counters,
      ...{ id: text(name), up: true, speed: 10_000, full_duplex: true, rx_errors: 1, tx_errors: 1, poe_on: true },
      ...{ power_draw: 12.5, xcvr_model: text(name), xcvr_part_number: text(name), xcvr_serial: text(name) },
    }),
    interfaces: times({
      ...counters,
      ...{ name: text(name), vlan: 100, ips: Array.from({ length: addresses / 4 }, () => ip), dns: [ip] },
    }),
    neighbors: times({
      ...{ port: text(name), mac, chassis_id: text(name), system_name: text(description), port_id: text(name) },
      ...{ system_desc: text(description), port_desc: text(description), mgmt_addrs: [ip], forwards: true },
    }),
    scan: { at_s: 1.7e9, cells: times({ bssid: mac, rssi: -70 }) },
    wireless: times({
      ...counters,
      ...{ mac, band: '5', channel: 149, ssid: text(32), bssid: mac, rssi: -60, snr: 35, rx_rate: 866, tx_rate: 866 },
      ...{
        tx_retries: 99,
        proto: 'ax',
        connected_s: 9999,
        idle_s: 9,
        ip: '10.20.0.200',
        hostname: text(name),
        vlan: 9,
      },
    }),
    wired: times({ mac, port: text(name), vlan: 1000, ip: '10.20.100.100' }),
  }
}

const nothing: Telemetry = {
  ...{ unit: {}, radios: [], ports: [], interfaces: [], neighbors: [], wireless: [], wired: [] },
}

/** An entry of each kind with the longest texts and lists. JSON escapes each character of its texts. */
function longestEntries() {
  const { radios, ports, interfaces, neighbors, wireless, wired } = telemetryOf((limit) => '"'.repeat(limit), 1)
  const ip = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'
  const of = (count: number, text: string): string[] => Array.from({ length: count }, () => text)
  const most = Number.MAX_SAFE_INTEGER
  const counts = { rx_bytes: most, tx_bytes: most, rx_pkts: most, tx_pkts: most }
  return {
    radios: { ...radios[0], ...counts, bssids: of(bssids, mac) },
    ports: { ...ports[0], ...counts, uplink: true, rx_errors: most, tx_errors: most, mac_count: most },
    interfaces: {
      ...interfaces[0],
      ...counts,
      ips: of(addresses, `${ip}/128`),
      dns: of(addresses, ip),
      dhcp_server: ip,
    },
    neighbors: { ...neighbors[0], mgmt_addrs: of(addresses, ip) },
    wireless: { ...wireless[0], ...counts, ip },
    wired: { ...wired[0], ip },
  }
}

describe('estimateBytes', () => {
  it('is the size of usual telemetry as JSON, or up to twice as much', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (count) => {
        const telemetry = telemetryOf((limit) => 'x'.repeat(limit / 8), count)
        const { length } = JSON.stringify(telemetry)
        expect(estimateBytes(telemetry)).toBeGreaterThan(length)
        expect(estimateBytes(telemetry)).toBeLessThan(2 * length)
      }),
    )
  })

  it.each(['radios', 'ports', 'interfaces', 'neighbors', 'wireless', 'wired'] as const)(
    'is at least a fifth of %s with the longest texts and lists',
    (kind) => {
      const entry = longestEntries()[kind]
      const estimated = estimateBytes({ ...nothing, [kind]: [entry] }) - estimateBytes(nothing)
      expect(5 * estimated).toBeGreaterThan(JSON.stringify(entry).length)
    },
  )

  it('counts each kind of entry', () => {
    const full = telemetryOf(() => 'x', 1)
    const kinds = ['radios', 'ports', 'interfaces', 'neighbors', 'scan', 'wireless', 'wired'] as const
    for (const kind of kinds)
      expect(estimateBytes({ ...nothing, [kind]: full[kind] })).toBeGreaterThan(estimateBytes(nothing))
  })
})
