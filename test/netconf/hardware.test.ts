// The hardware that a Virtual Chassis and other Junos devices report, with the real interface and gateway.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'
import { startJunos, testNetconf, untilSession } from './harness.ts'

/** Less than the time in which a device must reply, because the clock advances during its requests. */
const POLL_MS = 1000

let clock: TestClock
let server: TestServer
let gateway: Gateway
let org: TestOrg
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  gateway = await startGateway(server.ctx, {
    protocols: [testNetconf(server.ctx, { pollMs: POLL_MS })],
    nodeId: randomUUID(),
    monotonicMs: () => clock.now().getTime(),
    limits: quickTicks,
  })
})
afterAll(async () => {
  await gateway.stop()
  await server.close()
})

beforeEach(async () => {
  org = await server.addOrg()
})

const get = async (rest: string) =>
  (await server.call('GET', rest.replace('ORG', `orgs/${org.orgId}`), { as: org })).body

async function start(form: 'virtual_chassis' | 'single') {
  const { sites } = await seedOrg(server.ctx, [{ devices: 1, model: 'EX4100-48P', type: 'switch' }], org.orgId)
  const mac = sites[0]?.devices[0]?.mac ?? ''
  const serials = form === 'single' ? ['A0'] : ['A0', 'A1', 'A2']
  const junos = startJunos({ mac, form, serials, port: gateway.portOf('junos'), ctx: server.ctx, orgId: org.orgId })
  await untilSession(server, mac)
  return { mac, junos }
}

test('the members of a Virtual Chassis are shown as it reports them, absent ones with the start of their absence', async () => {
  const { mac, junos } = await start('virtual_chassis')
  const read = () => get(`/installer/ORG/devices/${mac}/vc`)
  const first = await waitUntil('the hardware', async () => {
    const chassis = await read()
    return chassis.members?.[0]?.last_seen === undefined ? null : chassis
  })
  const seenAt = Math.floor(clock.now().getTime() / 1000)
  expect(first).toMatchObject({ config_type: 'nonprovisioned', num_routing_engines: 2, locating: false })
  expect(first.members).toHaveLength(3)
  expect(first.members[1]).toEqual({
    fpc_idx: 1,
    mac: '',
    serial: 'A1',
    model: 'EX4100-48P',
    version: '22.4R3.25',
    type: 'fpc',
    status: 'connected',
    locating: false,
    vc_role: 'backup',
    vc_state: 'present',
    last_seen: seenAt,
    uptime: 86_400,
    backup_version: '21.4R3.15',
    bios_version: '1.06',
    cpld_version: '0.11',
    fpga_version: '1.9',
    poe_version: '2.1.1.19.3',
    uboot_version: '2023.01',
    cpu_stat: { user: 5, system: 4, interrupt: 1, idle: 90, load_avg: [0.28, 0.3, 0.31] },
    poe: { max_power: 740, power_draw: 12.2 },
    psus: [{ name: 'Power Supply 0', status: 'ok' }],
    fans: [{ name: 'Fan 1', status: 'ok', airflow: 'out' }],
    temperatures: [{ name: 'CPU', status: 'ok', celsius: 45 }],
    pics: [{ index: 0, model_number: 'EX4100-48P', port_groups: [{ count: 48, type: '10/100/1000 Base-T' }] }],
    vc_links: [
      { port_id: 'vcp-255/1/1', neighbor_module_idx: 2, neighbor_port_id: 'vcp-255/1/0' },
      { port_id: 'vcp-255/1/0', neighbor_module_idx: 0, neighbor_port_id: 'vcp-255/1/1' },
    ],
  })
  const last = junos.device.chassis[2]
  if (last === undefined) throw new Error('there is no third member')
  last.isPresent = false
  // The next poll for changes finds it.
  const second = await waitUntil('the absence', async () => {
    clock.advance(POLL_MS)
    const chassis = await read()
    return chassis.members[2].vc_state === 'not-present' ? chassis : null
  })
  expect(second.members[2]).toEqual({
    fpc_idx: 2,
    mac: '',
    serial: 'A2',
    model: 'EX4100-48P',
    version: '',
    type: 'fpc',
    status: 'disconnected',
    locating: false,
    vc_role: 'linecard',
    vc_state: 'not-present',
    last_seen: expect.any(Number),
  })
  expect(second.members[2].last_seen).toBeLessThan(second.members[0].last_seen)
})

test('the inventory shows and finds what a switch says of itself', async () => {
  const { mac } = await start('single')
  const shown = await waitUntil('the hardware', async () => {
    const [item] = await get(`/ORG/inventory?mac=${mac}`)
    return item.sku === undefined ? null : item
  })
  expect(shown).toMatchObject({
    hostname: `sim-${mac}`,
    chassis_mac: mac,
    chassis_serial: 'A0',
    hw_rev: '12',
    sku: 'EX4100-48P',
  })
  const search = async (query: string) =>
    (await get(`/ORG/inventory/search?type=switch&${query}`)).results as { sku?: string }[]
  expect(await search(`mac=${mac}&sku=EX4100*`)).toMatchObject([{ mac, sku: 'EX4100-48P' }])
  expect(await search(`mac=${mac}&sku=EX2300*`)).toEqual([])
  expect((await search('sort=-sku'))[0]).toMatchObject({ sku: 'EX4100-48P' })
  const { results } = await get('/ORG/inventory/count?type=switch&distinct=sku')
  expect(results).toContainEqual(expect.objectContaining({ sku: 'EX4100-48P' }))
})
