import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shownBytesOf, summaryOf } from './summary.ts'
import { type Telemetry, bands, telemetryLimits } from './telemetry.ts'
import { type ReportedDevice, presentApReport, presentWiredReport } from './wire-report.ts'

const nothing: Telemetry = { unit: {}, radios: [], ports: [], interfaces: [], neighbors: [], wireless: [], wired: [] }
const place = { orgId: '00000000-0000-0000-0000-000000000001', siteId: null, mac: 'aabbccddee01', isLive: true }
const deviceWith = (report: Partial<Telemetry>, isLive = true): ReportedDevice => ({
  ...place,
  isLive,
  report: { ...nothing, ...report },
})

const uplink = { id: 'WAN', uplink: true, up: true, speed: 1000, full_duplex: true, rx_bytes: 9, tx_bytes: 8 } as const
const neighbor = {
  port: 'WAN',
  mac: '00005e005301',
  chassis_id: '00:00:5e:00:53:01',
  system_name: 'core-1',
  port_id: 'ge-0/0/7',
  port_desc: 'lobby',
  mgmt_addrs: ['192.0.2.1'],
  forwards: true,
}

describe('presentApReport', () => {
  it('shows radios by band, ports by name, and the neighbor at the uplink', () => {
    const report: Partial<Telemetry> = {
      unit: { num_clients: 3, num_wlans: 2, temperature: 48 },
      radios: [
        {
          band: '5',
          channel: 36,
          bandwidth: 80,
          power: 20,
          noise_floor: -95,
          bssids: ['aabbccddee11'],
          num_clients: 2,
          num_wlans: 1,
          util_all: 7,
          rx_bytes: 100,
        },
        { band: '5', channel: 149, bssids: [], num_clients: 1, num_wlans: 1, rx_bytes: 10, tx_bytes: 1 },
      ],
      ports: [
        { ...uplink, rx_bps: 80, tx_bps: 8 },
        { id: 'LAN', up: false },
      ],
      neighbors: [neighbor],
    }
    expect(presentApReport(deviceWith(report))).toEqual({
      num_clients: 3,
      num_wlans: 2,
      env_stat: { cpu_temp: 48 },
      rx_bytes: 9,
      tx_bytes: 8,
      rx_bps: 80,
      tx_bps: 8,
      radio_stat: {
        band_5: {
          usage: '5',
          channel: 36,
          bandwidth: 80,
          power: 20,
          noise_floor: -95,
          mac: 'aabbccddee11',
          num_clients: 3,
          num_wlans: 2,
          util_all: 7,
          rx_bytes: 110,
          tx_bytes: 1,
        },
      },
      port_stat: {
        WAN: { up: true, speed: 1000, full_duplex: true, rx_bytes: 9, tx_bytes: 8 },
        LAN: { up: false },
      },
      lldp_stat: {
        chassis_id: '00:00:5e:00:53:01',
        system_name: 'core-1',
        port_id: 'ge-0/0/7',
        port_desc: 'lobby',
        mgmt_addr: '192.0.2.1',
        mgmt_addrs: ['192.0.2.1'],
      },
      lldp_stats: { WAN: expect.objectContaining({ system_name: 'core-1' }) },
    })
  })

  it('shows addresses with the mask of their network', () => {
    const report = {
      unit: { gateway: '10.0.0.1' },
      interfaces: [
        { name: 'down', ips: [] },
        { name: 'up0v0', ips: ['10.0.0.7/20', '2001:db8::7/64'], dns: ['10.0.0.1'] },
        { name: 'up1v20', ips: ['192.0.2.7'] },
      ],
    }
    expect(presentApReport(deviceWith(report))).toEqual({
      ip_stat: {
        ip: '10.0.0.7',
        netmask: '255.255.240.0',
        gateway: '10.0.0.1',
        ip6: '2001:db8::7',
        netmask6: '/64',
        dns: ['10.0.0.1'],
        ips: { up0v0: '10.0.0.7/20,2001:db8::7/64', up1v20: '192.0.2.7' },
      },
    })
  })

  it('leaves out rates of the past, and everything that was not reported', () => {
    const ports = [{ ...uplink, rx_bps: 80, tx_bps: 8 }]
    const shown = presentApReport(deviceWith({ ports, radios: [] }, false))
    expect(shown).not.toHaveProperty('rx_bps')
    expect(presentApReport(deviceWith({}))).toEqual({})
  })
})

describe('presentWiredReport', () => {
  it('shows ports with what clients require, and with their neighbors', () => {
    const report: Partial<Telemetry> = {
      unit: { num_wired: 4, num_macs: 9 },
      ports: [{ ...uplink, rx_bps: 1, poe_on: true, power_draw: 4.5, mac_count: 5 }],
      interfaces: [{ name: 'Vlan20', vlan: 20, ips: ['192.0.2.10/24'] }],
      neighbors: [neighbor],
    }
    expect(presentWiredReport(deviceWith(report))).toMatchObject({
      ports: [
        {
          org_id: place.orgId,
          site_id: '00000000-0000-0000-0000-000000000000',
          mac: place.mac,
          port_id: 'WAN',
          port_mac: '',
          neighbor_mac: '00005e005301',
          neighbor_system_name: 'core-1',
          neighbor_port_desc: 'lobby',
          active: true,
          up: true,
          uplink: true,
          speed: 1000,
          rx_bps: 1,
          poe_on: true,
          power_draw: 4.5,
          mac_count: 5,
        },
      ],
      if_stat: {
        WAN: { port_id: 'WAN', up: true, rx_bytes: 9, tx_bytes: 8 },
        Vlan20: { port_id: 'Vlan20', vlan: 20, ips: ['192.0.2.10/24'] },
      },
      clients_stats: { total: { num_wired_clients: 4 } },
      mac_table_stats: { mac_table_count: 9 },
    })
    expect(presentWiredReport(deviceWith(report, false))['ports']).not.toHaveProperty('0.rx_bps')
  })
})

describe('summaryOf', () => {
  it('takes the first radio of each band, the uplink and the neighbor there', () => {
    const summary = summaryOf({
      ...nothing,
      radios: [
        { band: '24', channel: 6, bandwidth: 20, power: 17, bssids: ['aabbccddee11'], num_clients: 0, num_wlans: 1 },
        { band: '24', channel: 11, bssids: ['aabbccddee21'], num_clients: 0, num_wlans: 1 },
      ],
      ports: [{ id: 'LAN', up: false }, uplink],
      neighbors: [{ ...neighbor, port: 'LAN', system_name: 'other' }, neighbor],
    })
    expect(summary).toMatchObject({
      band24Channel: 6,
      band24Bandwidth: 20,
      band24Power: 17,
      band5Channel: null,
      eth0PortSpeed: 1000,
      lldpSystemName: 'core-1',
      lldpMgmtAddr: '192.0.2.1',
      radioMacs: ['aabbccddee11', 'aabbccddee21'],
      activePorts: 1,
      totalPorts: 2,
    })
  })
})

describe('shownBytesOf', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: telemetryLimits.description })
  const counter = fc.option(fc.maxSafeNat(), { nil: undefined })
  const id = fc.string({ minLength: 1, maxLength: telemetryLimits.name })
  const counters = { rx_bytes: counter, tx_bytes: counter, rx_pkts: counter, tx_pkts: counter }
  const unique = { selector: ({ id: key }: { id: string }) => key, maxLength: 20 }
  const report = fc.record({
    radios: fc.array(
      fc.record({
        band: fc.constantFrom(...bands),
        bssids: fc.constant(['aabbccddee11']),
        num_clients: fc.nat(),
        num_wlans: fc.nat(),
        channel: fc.nat(),
        util_all: fc.nat(100),
        ...counters,
      }),
      { maxLength: 8 },
    ),
    ports: fc.uniqueArray(fc.record({ id, up: fc.boolean(), speed: fc.nat(), xcvr_model: text, ...counters }), unique),
    interfaces: fc.array(fc.record({ name: id, ips: fc.array(fc.ipV6(), { maxLength: 8 }), ...counters }), {
      maxLength: 8,
    }),
    neighbors: fc.array(
      fc.record({
        port: id,
        mac: fc.constant('00005e005301'),
        chassis_id: id,
        system_name: text,
        system_desc: text,
        port_id: id,
        port_desc: text,
        mgmt_addrs: fc.array(fc.ipV6(), { maxLength: 8 }),
        forwards: fc.boolean(),
      }),
      { maxLength: 20 },
    ),
  })

  it('is at least what is shown, for lists that limit their answers', () => {
    fc.assert(
      fc.property(report, fc.boolean(), ({ neighbors, ...parts }, areHere) => {
        // Neighbors at a port are shown with it.
        const port = parts.ports[0]?.id
        const here = areHere && port !== undefined ? neighbors.map((one) => ({ ...one, port })) : neighbors
        const telemetry = { ...nothing, ...parts, neighbors: here } as Telemetry
        for (const present of [presentApReport, presentWiredReport]) {
          const shown = Buffer.byteLength(JSON.stringify(present(deviceWith(telemetry))))
          expect(shown).toBeLessThanOrEqual(shownBytesOf(telemetry))
        }
      }),
    )
  })
})
