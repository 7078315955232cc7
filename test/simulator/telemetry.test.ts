import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { issueGatewayTls, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createProtocols } from '../../src/gateway/protocols.ts'
import { startGateway } from '../../src/gateway/start-gateway.ts'
import { startFleet } from '../../src/simulator/fleet.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addSite, claimNewDevices } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'

const [apMac, switchMac] = ['02a0b0000001', '02a0b0000002']
const devices = [
  { mac: apMac, serial: 'A1', model: 'EAP104', type: 'ap', firmware: '1.0.0' },
  { mac: switchMac, serial: 'S1', model: 'ECS4150', type: 'switch', firmware: '1.0.0' },
] as const

let server: TestServer
let siteId: string
const closers: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  server = await startTestServer()
  closers.push(() => server.close())
  siteId = await addSite(server)
  for (const { mac, model, type } of devices) await claimNewDevices(server, 1, { mac, model, type, siteId })
  const ca = await makeCa()
  const tls = await issueGatewayTls(ca, ['127.0.0.1'])
  const protocols = createProtocols({
    ucentral: { host: '127.0.0.1', port: 0, tls },
    edge: { host: '127.0.0.1', port: 0, tls, dataDir: server.dataDir },
  })
  const limits = quickTicks
  const gateway = await startGateway(server.ctx, { nodeId: randomUUID(), limits, protocols })
  closers.push(() => gateway.stop())
  const fleet = await startFleet({
    gateway: { host: '127.0.0.1', port: gateway.portOf('ucentral') },
    ca,
    devices: [...devices],
    log: server.ctx.log,
    pace: { bootMs: 2000, flashMs: 3000, timeScale: 0.01 },
  })
  closers.push(() => fleet.stop())
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const site = async (path: string): Promise<AnyJson> => (await server.call('GET', `/sites/${siteId}/${path}`)).body

/** Waits for statistics that have the member, which means that the gateway has recorded a report. */
const statsWith = (mac: string, member: string): Promise<AnyJson> =>
  waitUntil(`${member} of ${mac}`, async () => {
    const stats = await site(`stats/devices/${deviceIdOf(mac)}`)
    return member in stats ? stats : null
  })

it('shows what a simulated access point reports, and finds it by its channel and its neighbor', async () => {
  const { radio_stat: radios, ...stats } = await statsWith(apMac, 'radio_stat')
  expect(stats).toMatchObject({
    cpu_util: expect.any(Number),
    num_wlans: 2,
    port_stat: { eth0: { up: true, speed: 1000 } },
    lldp_stat: { system_name: expect.stringMatching(/^floor-switch-/) },
  })
  expect(Object.keys(radios)).toEqual(['band_24', 'band_5', 'band_6'])
  const { band_6: high } = radios
  const query = `band_6_channel=${high.channel}&lldp_system_name=${stats['lldp_stat'].system_name}`
  expect((await site(`devices/search?${query}`)).results).toMatchObject([
    { mac: apMac, band_6_channel: high.channel, band_6_bandwidth: '160', eth0_port_speed: 1000 },
  ])
  const clients: AnyJson[] = await site(`stats/devices/${deviceIdOf(apMac)}/clients`)
  expect(clients.length).toBe(stats['num_clients'])
  expect(clients[0]).toMatchObject({ type: 'wireless', ssid: 'Office', ap_mac: apMac })
  // The bucket in which a device came into its site is not shown.
  await server.ctx.db
    .updateTable('device')
    .set({ siteSince: new Date(0) })
    .execute()
  const { results } = await site(`stats/devices/${deviceIdOf(apMac)}/series?duration=10m&fields=num_clients`)
  expect(results.num_clients).toContain(stats['num_clients'])
})

it('shows ports with power, clients and metrics of a simulated switch', async () => {
  const stats = await statsWith(switchMac, 'ports')
  expect(stats['ports']).toHaveLength(24)
  expect(stats['ports'][0]).toMatchObject({ port_id: 'Ethernet0', up: true, poe_on: true, power_draw: 3 })
  expect(stats['clients_stats']).toEqual({ total: { num_wired_clients: 16 } })
  expect(await site('stats/switches/metrics')).toMatchObject({
    active_ports_summary: { details: { active_port_count: 17, total_port_count: 24 } },
  })
})
