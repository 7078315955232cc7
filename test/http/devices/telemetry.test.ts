import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenedSession } from '../../../src/devices/sessions/store.ts'
import { accessPoint, currentAccessPoint, olsSwitch } from '../../../src/gateway/ucentral/state/samples.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { recordEnds } from '../../support/fleets/record.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  reportState,
} from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let now = new Date('2026-11-20T12:00:00Z')
let server: TestServer
let siteId: string
let older: MadeDevice
let newer: MadeDevice
let silent: MadeDevice
let switches: MadeDevice[]
const sessions = new Map<string, OpenedSession>()

beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  siteId = await addSite(server)
  const aps = await claimNewDevices(server, 3, { siteId })
  const [a, b, c] = aps
  if (a === undefined || b === undefined || c === undefined) throw new Error('no devices')
  ;[older, newer, silent] = [a, b, c]
  switches = await claimNewDevices(server, 3, { siteId, model: 'EX4100-48P' })
  for (const device of [older, newer]) sessions.set(device.id, await connectDevice(server.ctx, device.mac))
  for (const [index, { id, mac }] of switches.entries())
    sessions.set(id, await connectDevice(server.ctx, mac, { type: 'switch', firmware: index === 0 ? '2.0' : '1.0' }))
  await report(older, accessPoint, 100)
  await report(newer, currentAccessPoint, 100)
  await report(switches[0], olsSwitch, 100)
})
afterAll(() => server.close())

async function report(device: MadeDevice | undefined, state: object, uptime: number): Promise<void> {
  const session = sessions.get(device?.id ?? '')
  if (session === undefined) throw new Error('the device is not connected')
  await reportState(server, session, { state, uptime })
}

const org = (path: string): Promise<Answer> => server.call('GET', `/orgs/${server.org.orgId}/${path}`)
const site = (path: string, as = server.org): Promise<Answer> => server.call('GET', `/sites/${siteId}/${path}`, { as })
const statsOf = async ({ id }: MadeDevice): Promise<Answer['body']> => (await site(`stats/devices/${id}`)).body

describe('statistics', () => {
  it('show radios, ports, addresses and neighbors of an access point', async () => {
    expect(await statsOf(newer)).toMatchObject({
      num_clients: 3,
      num_wlans: 3,
      cpu_util: 13,
      env_stat: { cpu_temp: 48 },
      radio_stat: {
        band_24: { channel: 11, bandwidth: 20, power: 20, noise_floor: -95, mac: 'aabbcc00a001', num_clients: 1 },
        band_6: { channel: 37, bandwidth: 160, util_all: 15, util_tx: 3, util_non_wifi: 2, num_wlans: 2, usage: '6' },
      },
      port_stat: { WAN: { up: true, speed: 2500, full_duplex: true }, LAN1: { speed: 100, full_duplex: false } },
      rx_bytes: 5000,
      lldp_stat: { system_name: 'core-1', port_id: 'ge-0/0/7', mgmt_addr: '192.0.2.1' },
    })
    expect(await statsOf(older)).toMatchObject({
      ip_stat: { ip: '10.2.177.154', netmask: '255.255.0.0', dns: ['10.2.0.1'], dhcp_server: '10.2.0.1' },
      rx_bytes: 181_910_484,
    })
    expect(await statsOf(silent)).not.toHaveProperty('radio_stat')
  })

  it('show ports, interfaces and numbers of clients of a switch', async () => {
    const [first] = switches
    if (first === undefined) throw new Error('no switch')
    expect(await statsOf(first)).toMatchObject({
      ports: [
        { port_id: 'Ethernet0', up: true, speed: 1000, rx_errors: 1, poe_on: true, power_draw: 5.3, site_id: siteId },
        { port_id: 'Ethernet1', up: false },
        { port_id: 'Ethernet2', uplink: true, xcvr_model: 'SFP+' },
      ],
      if_stat: { Vlan20: { vlan: 20, ips: ['192.0.2.10'] }, Ethernet0: { rx_bytes: 1000 } },
      ip_stat: { gateway: '192.0.2.254' },
      clients_stats: { total: { num_wired_clients: 2 } },
      mac_table_stats: { mac_table_count: 3 },
      cpu_stat: { load_avg: [0.5, 0.4, 0.3] },
    })
    const { body } = await org('stats/devices?type=switch')
    expect(body).toHaveLength(3)
    expect(body.filter((one: object) => 'ports' in one)).toHaveLength(1)
  })

  it('have integers where clients decode integers', async () => {
    const { radio_stat: radios, port_stat: ports, ...stats } = await statsOf(newer)
    const { usage: _usage, mac: _mac, ...radio } = radios.band_6
    const { up: _up, full_duplex: _duplex, ...port } = ports.WAN
    for (const value of [...Object.values(radio), ...Object.values(port), stats.cpu_util, stats.rx_bytes])
      expect(value).toSatisfy(Number.isInteger)
  })

  it('show rates while they are those of now', async () => {
    const device = await claimNewDevice(server, { siteId })
    const linkWith = (rx: number) => ({
      radios: [{ channel: 13 }],
      'link-state': { upstream: { eth0: { carrier: 1, counters: { rx_bytes: rx, tx_bytes: 0 } } } },
    })
    const session = await connectDevice(server.ctx, device.mac)
    sessions.set(device.id, session)
    await report(device, linkWith(1000), 100)
    expect(await statsOf(device)).not.toHaveProperty('rx_bps')
    now = addMs(now, 60_000)
    await report(device, linkWith(7000), 160)
    expect(await statsOf(device)).toMatchObject({ rx_bps: 800, tx_bps: 0, rx_bytes: 7000 })
    await recordEnds(server.ctx, [session])
    const after = await statsOf(device)
    expect(after).toMatchObject({ status: 'disconnected', rx_bytes: 7000, last_seen: now.getTime() / 1000 })
    expect(after).not.toHaveProperty('rx_bps')
  })
})

describe('searches', () => {
  const found = async (query: string): Promise<string[]> =>
    (await site(`devices/search?sort=mac&${query}`)).body.results.map(({ mac }: MadeDevice) => mac)

  it('filter by what radios, uplinks and neighbors report', async () => {
    for (const [query, device] of [
      ['band_24_channel=11', newer],
      ['band_5_channel=100', older],
      ['band_6_bandwidth=160', newer],
      ['band_6_power=23', newer],
      ['eth0_port_speed=2500', newer],
      ['lldp_system_name=core-1', newer],
      ['lldp_system_name=core*', newer],
      ['lldp_port_id=ge-0/0/7', newer],
      ['lldp_mgmt_addr=192.0.2.1', newer],
      ['lldp_system_desc=Core switch', newer],
      ['cpu=13', newer],
    ] as const)
      expect([query, await found(query)]).toEqual([query, [device.mac]])
    expect(await found('band_24_channel=6,11')).toEqual([older.mac, newer.mac].toSorted())
    expect(await found('band_24_channel=1')).toEqual([])
    expect((await org('devices/search?band_24_channel=11')).body.total).toBe(1)
    expect((await org('devices/search?type=switch&clustered=true')).body.total).toBe(0)
    expect((await org('devices/search?type=switch&clustered=false')).body.total).toBe(3)
  })

  it('answer, sort by and count these fields', async () => {
    const { results } = (await site('devices/search?sort=-band_24_channel&band_24_channel=6,11')).body
    expect(results).toMatchObject([
      {
        mac: newer.mac,
        band_24_channel: 11,
        band_24_bandwidth: '20',
        band_6_channel: 37,
        eth0_port_speed: 2500,
        lldp_system_name: 'core-1',
        lldp_port_desc: 'to the lobby',
      },
      { mac: older.mac, band_24_channel: 6, band_5_power: 24 },
    ])
    expect(results[1]).not.toHaveProperty('band_6_channel')
    expect((await org('devices/count?distinct=lldp_system_name&lldp_port_id=ge*')).body.results).toEqual([
      { lldp_system_name: 'core-1', count: 1 },
    ])
    expect((await org('devices/search?type=switch')).body.results[0]).toMatchObject({
      clustered: false,
      num_members: 1,
    })
  })

  it.each([
    ['search?sort=cpu', 400],
    ['search?lldp_port_desc=lobby', 400],
    ['search?sort=lldp_port_desc', 200],
    ['count?distinct=cpu', 400],
    ['count?distinct=clustered', 400],
    ['count?distinct=eth0_port_speed', 400],
    ['count?distinct=band_24_channel', 400],
    ['count?band_24_channel=6', 400],
    ['count?distinct=lldp_mgmt_addr&lldp_system_desc=Core switch', 200],
  ])('know these fields where the contract has them: %s', async (query, status) => {
    for (const at of [org, site]) expect((await at(`devices/${query}`)).status).toBe(status)
  })
})

it('lists the radio addresses of access points', async () => {
  const { body, headers } = await org('devices/radio_macs?limit=2')
  expect(body).toHaveLength(2)
  expect(Number(headers.get('x-page-total'))).toBeGreaterThanOrEqual(3)
  const all: { mac: string; radio_macs: string[] }[] = (await org('devices/radio_macs')).body
  const macsOf = ({ mac }: MadeDevice) => all.find((one) => one.mac === mac)?.radio_macs
  expect(macsOf(newer)).toEqual(['aabbcc00a001', 'aabbcc00a006', 'aabbcc00a007'])
  expect(macsOf(silent)).toEqual([])
})

describe('clients of a device', () => {
  const clientsOf = async (device: MadeDevice | undefined) => (await site(`stats/devices/${device?.id}/clients`)).body

  it('are the wireless and wired ones that it reported last', async () => {
    const clients = await clientsOf(newer)
    expect(clients).toHaveLength(4)
    expect(clients[0]).toMatchObject({
      mac: '020000000001',
      type: 'wireless',
      ap_id: newer.id,
      ap_mac: newer.mac,
      ssid: 'Guests',
      band: '24',
      channel: 11,
      rssi: -61,
      snr: 34,
      proto: 'n',
      ip: '10.7.0.9',
      hostname: 'phone',
      rx_bytes: 10,
      rx_pkts: 1,
      rx_packets: 1,
      uptime: 77,
      is_guest: false,
      key_mgmt: '',
    })
    expect(clients[3]).toMatchObject({ mac: '020000000009', type: 'wired', port_id: 'LAN1', ip: '10.7.0.20' })
    expect(await clientsOf(switches[0])).toMatchObject([
      { mac: '020000000011', port_id: 'Ethernet0', vlan_id: '1' },
      { mac: '020000000012', port_id: 'Ethernet0', vlan_id: '20' },
    ])
    expect(await clientsOf(silent)).toEqual([])
  })

  it('are those of the present site alone', async () => {
    const device = await claimNewDevice(server, { siteId })
    sessions.set(device.id, await connectDevice(server.ctx, device.mac))
    await report(device, currentAccessPoint, 100)
    const there = await addSite(server, 'There')
    const body = { op: 'assign', site_id: there, macs: [device.mac] }
    expect((await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, { body })).status).toBe(200)
    expect((await site(`stats/devices/${device.id}/clients`)).status).toBe(404)
    const elsewhere = () => server.call('GET', `/sites/${there}/stats/devices/${device.id}/clients`)
    expect((await elsewhere()).body).toEqual([])
    await report(device, currentAccessPoint, 160)
    expect((await elsewhere()).body).toHaveLength(4)
  })
})

describe('clients of a site', () => {
  type Listed = { mac: string; ap_mac: string }
  const list = async (query = '') => (await site(`stats/clients?${query}`)).body as Listed[]

  it('are those of all its connected devices, each once and with what its own device says of it', async () => {
    const all = await list()
    expect(all.map(({ mac }) => mac)).toEqual([...new Set(all.map(({ mac }) => mac))].toSorted())
    const ofNewer = (await site(`stats/devices/${newer.id}/clients`)).body
    expect(all.filter(({ ap_mac: ap }) => ap === newer.mac)).toEqual(ofNewer.slice(0, 3))
    const wired = await list('wired=True')
    expect(wired.map(({ mac }) => mac)).toEqual(expect.arrayContaining(['020000000011', '020000000012']))
    const { body, headers } = await site('stats/clients?limit=1&page=2&duration=1h')
    expect(body).toEqual(all.slice(1, 2))
    expect(headers.get('x-page-total')).toBe(String(all.length))
  })

  it('are with the device that has reported them last, and gone with it', async () => {
    const [roaming] = await list()
    const next = await claimNewDevice(server, { siteId })
    const session = await connectDevice(server.ctx, next.mac)
    sessions.set(next.id, session)
    now = addMs(now, 1000)
    await report(next, currentAccessPoint, 100)
    const isThere = async () => (await list()).some(({ mac, ap_mac: ap }) => mac === roaming?.mac && ap === next.mac)
    expect(await isThere()).toBe(true)
    await recordEnds(server.ctx, [session])
    expect(await isThere()).toBe(false)
  })
})

describe('the series of a device', () => {
  const seriesOf = (query: string, { id } = newer) => site(`stats/devices/${id}/series?${query}`)

  it('has a value for each ten minutes, null where there was no report', async () => {
    now = new Date('2026-11-20T15:00:00Z')
    await report(newer, { ...currentAccessPoint, unit: { cpu_load: [20] } }, 5000)
    now = addMs(now, 60_000)
    await report(newer, { ...currentAccessPoint, unit: { cpu_load: [30] } }, 5060)
    now = new Date('2026-11-20T15:20:00Z')
    await report(newer, { ...currentAccessPoint, unit: { cpu_load: [50] } }, 6200)
    now = new Date('2026-11-20T15:25:00Z')
    const start = Date.parse('2026-11-20T15:00:00Z') / 1000
    const { body } = await seriesOf('duration=25m&fields=cpu,num_clients,rx_bytes,uptime,band_6_util')
    expect(body).toEqual({
      start,
      end: start + 1800,
      interval: 600,
      results: {
        cpu: [25, null, 50],
        num_clients: [3, null, 3],
        rx_bytes: [0, null, null],
        uptime: [5060, null, 6200],
        // Each report follows a gap or has the counters of the one before, so that the firmware's own 7 counts.
        band_6_util: [7, null, 7],
      },
    })
  })

  it('covers a day and all fields by default', async () => {
    const { body } = await seriesOf('')
    expect(Object.keys(body.results)).toHaveLength(12)
    expect(body.results.cpu).toHaveLength(145)
  })

  it.each([
    ['fields=cpu,speed', 'Invalid field fields: "speed" must be one of cpu, memory'],
    ['duration=8d', 'Invalid field duration: the range must have at most 7 days'],
    ['start=0', 'Invalid field start: the range must have at most 7 days'],
    ['start=-1h&end=-2h', 'Invalid field start: must not be after `end`'],
  ])('refuses %s', async (query, detail) => {
    const { status, body } = await seriesOf(query)
    expect([status, body.detail]).toEqual([400, expect.stringContaining(detail)])
  })

  it('is not found for a device of another site', async () => {
    const { id } = (await claimNewDevices(server, 1))[0] ?? silent
    expect((await seriesOf('', { ...newer, id })).status).toBe(404)
  })
})
