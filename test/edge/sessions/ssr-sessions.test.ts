import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { findUnclaimed } from '../../../src/devices/registry/store.ts'
import { issueDeviceCertificate, loadDeviceCa } from '../../../src/gateway/certificates/device-ca.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { connectRouter, inventoryOf, openRouter, registerRouter, routerHello, statsOf } from '../routers.ts'
import { type AgentPeer, type EdgeWorld, hello, newKey, openAgent, register, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const restart = (place: { siteId: string; deviceId: string }, body: object = {}) =>
  world.call('POST', `/sites/${place.siteId}/devices/${place.deviceId}/restart`, { body })

async function commandsOf(place: { siteId: string; deviceId: string }) {
  return (await world.call('GET', `/sites/${place.siteId}/devices/${place.deviceId}/commands`)).body
}

describe('a router whose agent connects', () => {
  test('is a connected gateway with its version, model and uptime', async () => {
    const router = await connectRouter(world)
    const stats = await waitUntil('the report', async () => {
      const now = await statsOf(world, router)
      return now.uptime === undefined ? null : now
    })
    expect(stats).toMatchObject({ status: 'connected', version: '6.1.0', type: 'gateway', model: 'SSR120' })
    expect(stats.uptime).toBeGreaterThanOrEqual(100)
  })

  test('has the first address of its latest report, and none if that lists none', async () => {
    const router = await connectRouter(world)
    const report = (addresses: readonly string[]) =>
      router.agent.notify('report', { ...routerHello(router.mac).report, addresses })
    const shows = (ip: string | undefined) =>
      waitUntil(`the address ${ip}`, async () => (await statsOf(world, router)).ip === ip)
    report(['eth0', '192.0.2.7', '192.0.2.8'])
    await shows('192.0.2.7')
    report([])
    await shows(undefined)
  })

  test('restarts, and another boot id proves it', async () => {
    const router = await connectRouter(world)
    expect((await restart(router)).status).toBe(200)
    const call = await router.agent.nextCall()
    expect(call).toMatchObject({ method: 'restart', params: { command_id: expect.any(String) } })
    expect(call.params).not.toHaveProperty('node')
    router.agent.succeed(call)
    await waitUntil('done', async () => (await commandsOf(router))[0]?.status === 'done')
    router.agent.socket.terminate()
    const again = await openRouter(world, router, { boot_id: 'second-boot' })
    await again.hello()
    await waitUntil('the event', async () => {
      const { body } = await world.call('GET', `/sites/${router.siteId}/devices/events/search?mac=${router.mac}`)
      return body.results.some(({ type }: { type: string }) => type === 'GW_RESTARTED')
    })
  })

  test('has not booted if its connection was recorded long after its hello was written', async () => {
    const router = await connectRouter(world)
    const status = world.ctx.db
      .selectFrom('deviceStatus')
      .select(['bootCount', 'load'])
      .where('deviceId', '=', router.deviceId)
    const untilUptime = (uptimeS: number) =>
      waitUntil('the uptime', async () => {
        const { bootCount, load } = await status.executeTakeFirstOrThrow()
        return load?.['uptime_s'] === uptimeS ? { bootCount } : null
      })
    const { report } = routerHello(router.mac)
    router.agent.notify('report', { ...report, uptime_s: 1000 })
    const before = await untilUptime(1000)
    router.agent.socket.terminate()
    await world.ctx.db
      .updateTable('deviceStatus')
      .set({ bootKnownMs: world.ctx.serviceClock.nowMs() - 60_000 })
      .where('deviceId', '=', router.deviceId)
      .execute()
    const again = await openRouter(world, router, { report: { ...report, uptime_s: 1030 } })
    await again.hello()
    expect(await untilUptime(1030)).toEqual(before)
  })

  test('restarts one node where it has the node, and is refused any other', async () => {
    const router = await connectRouter(world, { nodes: ['node0', 'node1'] })
    expect((await restart(router, { node: 'node1' })).status).toBe(200)
    const call = await router.agent.nextCall()
    expect(call).toMatchObject({ method: 'restart', params: { node: 'node1' } })
    router.agent.succeed(call)

    const single = await connectRouter(world)
    expect(await restart(single, { node: 'node1' })).toMatchObject({
      status: 400,
      body: { detail: "The device can't restart node node1 alone" },
    })
    expect((await restart(single, { node: 'node2' })).status).toBe(400)
    expect((await restart(single, { member: 1 })).status).toBe(400)
  })

  test('is asked only for what its agent offers', async () => {
    const router = await connectRouter(world, { methods: ['stage', 'activate', 'rm -rf'] })
    expect(await restart(router)).toMatchObject({ status: 400, body: { detail: "The device can't be restarted" } })
  })

  test('refuses a command with its own words', async () => {
    const router = await connectRouter(world)
    await restart(router)
    router.agent.fail(await router.agent.nextCall(), 1, 'not now')
    const command = await waitUntil('rejected', async () => {
      const [last] = await commandsOf(router)
      return last?.status === 'rejected' ? last : null
    })
    expect(JSON.stringify(command)).toContain('not now')
  })
})

/** The gateway may answer with an error before it closes the connection. @returns The close code. */
async function refusalOf(peer: AgentPeer): Promise<number> {
  await peer.hello().catch(() => null)
  return peer.closed
}

describe('a hostile agent', () => {
  test("can't name another MAC than that of its certificate", async () => {
    const victim = await connectRouter(world)
    const attacker = await registerRouter(world)
    const peer = await openRouter(world, attacker, { mac: victim.mac })
    await expect(peer.hello()).rejects.toThrow('closed with 1008')
    expect(victim.agent.socket.readyState).toBe(WebSocket.OPEN)
    expect(await statsOf(world, victim)).toMatchObject({ status: 'connected' })
  })

  test("can't act as a router with the certificate of an edge appliance, nor the other way round", async () => {
    const { magic } = await addMxedge(world)
    const appliance = await register(world, magic)
    const asRouter = await openAgent(world, appliance, routerHello('02aabbccddee'))
    expect(await refusalOf(asRouter)).toBe(1008)
    const router = await registerRouter(world)
    const asAppliance = await openAgent(world, router, hello)
    expect(await refusalOf(asAppliance)).toBe(1008)
  })

  test('has no place once the organization has given its router up', async () => {
    const router = await connectRouter(world)
    const path = `/orgs/${world.org.orgId}/inventory`
    await world.call('PUT', path, { body: { op: 'delete', macs: [router.mac] } })
    expect(await router.agent.closed).toBe(4001)
    const again = await openRouter(world, router)
    await expect(again.hello()).rejects.toThrow('closed with 4001')
    expect(await inventoryOf(world, router.mac)).toBeUndefined()
  })

  test("can't keep its session with the key of an earlier registration", async () => {
    const first = await registerRouter(world)
    const path = `/orgs/${world.org.orgId}/inventory`
    await world.call('PUT', path, { body: { op: 'delete', macs: [first.mac] } })
    const renewed = await findUnclaimed(world.ctx.db, first.mac)
    expect(await world.call('POST', path, { body: [renewed?.claimCode] })).toMatchObject({ status: 200 })
    await registerRouter(world, { mac: first.mac, key: newKey() })
    const old = await openRouter(world, first)
    await expect(old.hello()).rejects.toThrow('closed with 4001')
  })

  test('that speaks uCentral with the MAC of a router opens no session', async () => {
    const router = await connectRouter(world)
    const ca = await loadDeviceCa(world.dataDir)
    const { certificatePem, keyPem } = await issueDeviceCertificate(ca, router.mac)
    const socket = new WebSocket(`wss://127.0.0.1:${world.gateway.portOf('ucentral')}/`, {
      ca: ca.certificatePem,
      cert: certificatePem,
      key: keyPem,
      rejectUnauthorized: false,
    })
    const closed = new Promise<number>((resolve) => socket.on('close', resolve))
    socket.on('open', () => {
      const capabilities = { compatible: 'SSR120', platform: 'ap' }
      const params = { serial: router.mac, uuid: 1, firmware: '9.9.9', capabilities }
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'connect', params }))
    })
    expect(await closed).toBe(1008)
    expect(await statsOf(world, router)).toMatchObject({ status: 'connected', version: '6.1.0' })
    expect(router.agent.socket.readyState).toBe(WebSocket.OPEN)
  })

  test.each([
    ['no version', { version: '' }],
    ['text that cannot be stored', { version: 'a\u0000b' }],
    ['another node', { nodes: ['node7'] }],
    ['too many methods', { methods: Array.from({ length: 65 }, () => 'stage') }],
    ['another role', { role: 'root' }],
  ])('that says hello with %s is closed', async (_, changes) => {
    const peer = await openRouter(world, await registerRouter(world), changes)
    expect(await refusalOf(peer)).toBe(1008)
  })
})
