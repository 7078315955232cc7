import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bands, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { decodeState } from './decode-state.ts'
import { accessPoint, currentAccessPoint, olsSwitch } from './samples.ts'

describe('the state of an access point with older firmware', () => {
  const told = decodeState(accessPoint)

  it('has radios with their networks, and airtime in sums', () => {
    expect(told.radios).toEqual([
      {
        band: '5',
        channel: 100,
        bandwidth: 80,
        power: 24,
        noise_floor: -103,
        bssids: ['04f8f8000b04'],
        num_clients: 0,
        num_wlans: 1,
        airtime: { active: 130_162_935, busy: 5_320_005, rx: 4_466_633, tx: 450_846 },
      },
      {
        band: '24',
        channel: 6,
        bandwidth: 20,
        power: 30,
        noise_floor: -96,
        bssids: ['04f8f8000b03'],
        num_clients: 0,
        num_wlans: 1,
        airtime: { active: 130_169_276, busy: 21_844_515, rx: 18_929_929, tx: 421_807 },
      },
    ])
  })

  it('has ports, interfaces and values of the unit', () => {
    expect(told.ports).toEqual([
      { id: 'eth1', up: false },
      { id: 'eth0', up: true, speed: 1000, full_duplex: true, uplink: true },
    ])
    expect(told.interfaces).toEqual([
      {
        name: 'up0v0',
        ips: ['10.2.177.154/16'],
        dns: ['10.2.0.1'],
        dhcp_server: '10.2.0.1',
        rx_bytes: 181_910_484,
        tx_bytes: 2_749_349,
        rx_pkts: 1_076_144,
        tx_pkts: 12_941,
      },
      { name: 'down1v0', ips: ['192.168.1.1/24'], rx_bytes: 0, tx_bytes: 1_032_226, rx_pkts: 0, tx_pkts: 4881 },
    ])
    expect(told.unit).toEqual({
      uptime_s: 130_207,
      load_avg: [0.039063, 0.02295, 0.001465],
      memory_total: 217_239_552,
      memory_free: 99_299_328,
      num_clients: 0,
      num_wlans: 1,
    })
    // The router was seen on a port without the role of a downlink.
    expect(told.wired).toEqual([{ mac: 'e263da000b8e', port: 'eth1', ip: '10.2.0.1' }])
  })
})

describe('the state of an access point with current firmware', () => {
  const told = decodeState(currentAccessPoint)

  it('finds radios by their path where the numbers of references are wrong', () => {
    expect(told.radios.map(({ band, channel, num_clients, bssids }) => [band, channel, num_clients, bssids])).toEqual([
      ['24', 11, 1, ['aabbcc00a001']],
      ['6', 37, 2, ['aabbcc00a006', 'aabbcc00a007']],
    ])
    expect(told.radios[1]).toMatchObject({
      bandwidth: 160,
      noise_floor: -98,
      util_all: 7,
      airtime: { active: 60_000, busy: 9000, rx: 6000, tx: 2000 },
      rx_bytes: 700,
      tx_bytes: 900,
    })
  })

  it('has wireless clients with address, rates and signal, and wired ones at downlinks alone', () => {
    expect(told.wireless).toEqual([
      {
        mac: '020000000001',
        band: '24',
        channel: 11,
        ssid: 'Guests',
        bssid: 'aabbcc00a001',
        rssi: -61,
        snr: 34,
        rx_rate: 6,
        tx_rate: 72.2,
        tx_retries: 3,
        proto: 'n',
        connected_s: 77,
        idle_s: 0,
        ip: '10.7.0.9',
        hostname: 'phone',
        rx_bytes: 10,
        tx_bytes: 20,
        rx_pkts: 1,
        tx_pkts: 2,
      },
      {
        mac: '020000000002',
        band: '6',
        channel: 37,
        ssid: 'Staff',
        bssid: 'aabbcc00a006',
        rssi: -50,
        snr: 48,
        proto: 'ax',
        rx_rate: 1200,
        ip: '10.7.0.10',
        vlan: 30,
      },
      { mac: '020000000003', band: '6', channel: 37, ssid: 'Lab', bssid: 'aabbcc00a007' },
    ])
    expect(told.wired).toEqual([{ mac: '020000000009', port: 'LAN1', ip: '10.7.0.20' }])
    expect(told.unit).toMatchObject({ num_clients: 3, num_wlans: 3, cpu_percent: 12.5, temperature: 48 })
  })

  it('has the neighbor at the uplink', () => {
    expect(told.neighbors).toEqual([
      {
        port: 'WAN',
        mac: '00005e005301',
        chassis_id: '00:00:5e:00:53:01',
        system_name: 'core-1',
        system_desc: 'Core switch',
        port_id: 'ge-0/0/7',
        port_desc: 'to the lobby',
        mgmt_addrs: ['192.0.2.1', '2001:db8::1'],
        forwards: true,
      },
    ])
    expect(told.ports).toMatchObject([
      { id: 'WAN', uplink: true, speed: 2500, rx_bytes: 5000, rx_errors: 1 },
      { id: 'LAN1', up: true, speed: 100, full_duplex: false, poe_on: true, power_draw: 4.5 },
    ])
  })
})

describe('the state of a switch', () => {
  const told = decodeState(olsSwitch)

  it('has ports with power, modules and counters, and an uplink at the default route', () => {
    expect(told.ports).toEqual([
      {
        id: 'Ethernet0',
        up: true,
        speed: 1000,
        full_duplex: true,
        rx_bytes: 1000,
        tx_bytes: 2000,
        rx_pkts: 10,
        tx_pkts: 20,
        rx_errors: 1,
        tx_errors: 2,
        poe_on: true,
        power_draw: 5.3,
        mac_count: 2,
      },
      { id: 'Ethernet1', up: false, rx_bytes: 0, tx_bytes: 0, rx_pkts: 0, tx_pkts: 0, rx_errors: 0, tx_errors: 0 },
      {
        id: 'Ethernet2',
        uplink: true,
        up: true,
        speed: 10_000,
        full_duplex: true,
        xcvr_model: 'SFP+',
        xcvr_part_number: 'P10',
        xcvr_serial: 'X1',
        mac_count: 1,
      },
    ])
    expect(told.unit).toMatchObject({ poe_budget: 370, poe_draw: 5, gateway: '192.0.2.254', num_macs: 3, num_wired: 2 })
  })

  it('has stations behind its own ports, and interfaces of VLANs', () => {
    expect(told.wired).toEqual([
      { mac: '020000000011', port: 'Ethernet0', vlan: 1 },
      { mac: '020000000012', port: 'Ethernet0', vlan: 20 },
    ])
    expect(told.interfaces).toEqual([{ name: 'Vlan20', vlan: 20, ips: ['192.0.2.10'] }])
  })
})

describe('the state of a switch without a default route', () => {
  const { 'default-gateway': _, ...state } = olsSwitch
  const uplinksOf = (value: object) =>
    decodeState(value).ports.flatMap(({ id, uplink }) => (uplink === true ? [id] : []))

  it('has no uplink, and stations behind all of its ports', () => {
    expect(uplinksOf({ ...state, 'lldp-peers': {} })).toEqual([])
    expect(decodeState({ ...state, 'lldp-peers': {} }).unit.num_wired).toBe(3)
  })

  it('has an uplink where a neighbor forwards, and no stations behind it', () => {
    const peer = { mac: '00:00:5e:00:53:01', capability: ['bridge'] }
    const told = { ...state, 'lldp-peers': { upstream: { Ethernet2: [peer] } } }
    expect(uplinksOf(told)).toEqual(['Ethernet2'])
    expect(decodeState(told).wired.map(({ port }) => port)).toEqual(['Ethernet0', 'Ethernet0'])
  })
})

it('cuts the texts of a neighbor to 255 bytes, between characters', () => {
  const peer = {
    name: '\u5b57'.repeat(255),
    description: 'x'.repeat(254) + '\u00e9',
    port_descr: '\u{1f600}'.repeat(200),
  }
  const [neighbor] = decodeState({ 'lldp-peers': { upstream: { WAN: [peer] } } }).neighbors
  expect(neighbor).toMatchObject({
    system_name: '\u5b57'.repeat(85),
    system_desc: 'x'.repeat(254),
    port_desc: '\u{1f600}'.repeat(63),
  })
})

/** Anything at the places that the decoder reads, and in plausible shapes. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue() },
  fc.integer(),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('aa:bb:cc:dd:ee:ff', '10.0.0.1/24', '6G', -1, 4_294_967_200, '\ud83d', '__proto__', { toString: 1 }),
)
const names = [
  'unit interfaces radios link-state lldp-peers mac-forwarding-table default-gateway poe ssids clients associations',
  'upstream downstream eth0 WAN counters ipv4 ipv6 addresses name mac station bssid ssid band channel frequency survey',
  'rx_bytes tx_rate bitrate capability management_ips cpu_load memory total load uptime radio $ref phy ports carrier 20',
]
  .join(' ')
  .split(' ')
const anyState = fc.letrec<{ value: unknown; fields: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, anyValue, tie('fields'), fc.array(tie('value'), { maxLength: 6 })),
  fields: fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 8 }),
}))

describe('any state', () => {
  it('is decoded, to a document that the database stores and that keeps the limits', () => {
    fc.assert(
      fc.property(anyState.fields, (state) => {
        const told = decodeState(state)
        const text = JSON.stringify(told)
        expect(text.isWellFormed()).toBe(true)
        expect(text).not.toMatch(/\\u0000|\\ud[89a-f]/)
        expect(JSON.parse(text)).toEqual(told)
        for (const { band } of told.radios) expect(bands).toContain(band)
        expectIntegers(told)
      }),
      { numRuns: 500 },
    )
  })

  it('is cut to the limits, and still counted', () => {
    const macs = Array.from({ length: 5000 }, (_, i) => i.toString(16).padStart(12, '0'))
    const ports = Object.fromEntries(macs.map((mac) => [`Ethernet${mac}`, { carrier: true, speed: 1000 }]))
    const addresses = macs.map(() => '10.0.0.1/8')
    const associations = macs.map((station) => ({ station }))
    const peers = macs.map((mac) => ({ mac, name: 'x'.repeat(5000), management_ips: macs }))
    const told = decodeState({
      'link-state': { upstream: ports, downstream: ports },
      'lldp-peers': { upstream: Object.fromEntries(macs.map((mac) => [mac, peers])) },
      'mac-forwarding-table': { Ethernet0: { 1: macs } },
      'default-gateway': [],
      radios: macs.map(() => ({ channel: 6 })),
      interfaces: macs.map((mac) => ({
        name: `x${mac}`,
        ipv4: { addresses },
        ssids: [{ ssid: mac, radio: { $ref: '#/radios/0' }, associations }],
      })),
    })
    const { radios, ports: MAX_PORTS, interfaces, neighbors, wireless, wired } = telemetryLimits
    expect(told.radios).toHaveLength(radios)
    expect(told.ports).toHaveLength(MAX_PORTS)
    expect(told.interfaces).toHaveLength(interfaces)
    expect(told.neighbors).toHaveLength(neighbors)
    expect(told.wireless).toHaveLength(wireless)
    expect(told.wired).toHaveLength(wired)
    expect(told.unit).toMatchObject({ num_macs: 5000, num_clients: 64 * 5000 })
    expect(JSON.stringify(told).length).toBeLessThan(600_000)
  })
})

/** Asserts that the fields that the interface declares as integers are integers. */
function expectIntegers({ radios, ports, wireless }: ReturnType<typeof decodeState>): void {
  for (const { channel, bandwidth, power, noise_floor: noise, util_all: all } of radios)
    for (const value of [channel, bandwidth, power, noise, all]) expect(value ?? 0).toSatisfy(Number.isSafeInteger)
  for (const { speed, rx_bytes: rx, tx_errors: errors } of ports)
    for (const value of [speed, rx, errors]) expect(value ?? 0).toSatisfy(Number.isSafeInteger)
  for (const { rx_bytes: rx, tx_retries: retries } of wireless)
    for (const value of [rx, retries]) expect(value ?? 0).toSatisfy(Number.isSafeInteger)
}
