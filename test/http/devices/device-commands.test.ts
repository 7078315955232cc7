import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { recordEnds } from '../../support/fleets/record.ts'
import { giveToUpgrade } from '../../support/fleets/device-upgrades.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  stockCapabilities,
} from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
})

async function newDevices(count: number, model = 'AP45'): Promise<MadeDevice[]> {
  return claimNewDevices(server, count, { siteId, model })
}

async function newDevice(model?: string): Promise<MadeDevice> {
  const [device] = await newDevices(1, model)
  if (device === undefined) throw new Error('no device')
  return device
}

async function commandsOf({ id }: MadeDevice) {
  return server.ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'params', 'state'])
    .where('deviceId', '=', id)
    .orderBy('id')
    .execute()
}

async function auditsOf(message: string) {
  return server.ctx.db
    .selectFrom('auditLog')
    .selectAll()
    .where('message', '=', message)
    .where('siteId', '=', siteId)
    .execute()
}

describe('locating a device', () => {
  const call = (device: MadeDevice, what: 'locate' | 'unlocate', body?: unknown): Promise<Answer> =>
    server.call('POST', `/sites/${siteId}/devices/${device.id}/${what}`, { body })

  it('queues the command for the minutes that are asked for, with its audit record', async () => {
    const device = await newDevice()
    await connectDevice(server.ctx, device.mac)
    expect(await call(device, 'locate', '')).toMatchObject({ status: 200, body: {} })
    const spelled = device.mac.toUpperCase().replaceAll(/..(?=.)/g, '$&:')
    expect((await call(device, 'locate', { duration: 120, mac: spelled })).status).toBe(200)
    expect((await call(device, 'unlocate', '')).status).toBe(200)
    expect(await commandsOf(device)).toEqual([
      { kind: 'locate', params: { duration_s: 300 }, state: 'queued' },
      { kind: 'locate', params: { duration_s: 7200 }, state: 'queued' },
      { kind: 'unlocate', params: {}, state: 'queued' },
    ])
    expect(await auditsOf(`Locate device ${device.mac}`)).toHaveLength(2)
    expect(await auditsOf(`Unlocate device ${device.mac}`)).toMatchObject([{ adminId: server.org.adminId }])
  })

  it('is refused for devices that are offline, have no LEDs, or are not meant', async () => {
    const offline = await newDevice()
    const dark = await newDevice('ECS4150')
    await connectDevice(server.ctx, dark.mac, { type: 'switch' })
    const device = await newDevice()
    await connectDevice(server.ctx, device.mac)
    for (const [target, body, detail] of [
      [offline, {}, 'Cannot locate an offline device'],
      [dark, {}, 'The device has no LEDs that can blink'],
      [device, { mac: offline.mac }, `Invalid field mac: ${offline.mac} is not`],
      [device, { mac: 'hall' }, 'Invalid field mac: "hall" is not a MAC address'],
      [device, { duration: 0 }, 'Invalid field duration: '],
      [device, { duration: 121 }, 'Invalid field duration: '],
    ] as const) {
      const answer = await call(target, 'locate', body)
      expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(detail) } })
      expect(await commandsOf(target)).toEqual([])
    }
    expect((await call({ ...device, id: randomUUID() }, 'locate')).status).toBe(404)
  })
})

describe('restarting several devices', () => {
  const restart = (body: unknown): Promise<Answer> => server.call('POST', `/sites/${siteId}/devices/restart`, { body })

  it('restarts the connected ones, with an event for each, and names the others', async () => {
    const devices = await newDevices(3)
    const [first, second, offline] = devices as [MadeDevice, MadeDevice, MadeDevice]
    await connectDevice(server.ctx, first.mac)
    await connectDevice(server.ctx, second.mac)
    await recordEnds(server.ctx, [await connectDevice(server.ctx, offline.mac)])
    const answer = await restart({ device_ids: [second.id, offline.id, first.id, first.id] })
    expect(answer).toMatchObject({
      status: 200,
      body: { restarted: [first.id, second.id], error: [offline.id], reason: ['offline'] },
    })
    for (const device of [first, second])
      expect(await commandsOf(device)).toEqual([{ kind: 'restart', params: {}, state: 'queued' }])
    expect(await commandsOf(offline)).toEqual([])
    const [audit, ...more] = await auditsOf('Restart 2 devices')
    expect(more).toEqual([])
    expect(audit).toMatchObject({ after: { macs: [first.mac, second.mac] } })
    const events = await server.ctx.db
      .selectFrom('deviceEvent')
      .select(['deviceId', 'event'])
      .where('siteId', '=', siteId)
      .where('type', '=', 'AP_RESTART_BY_USER')
      .orderBy('deviceId')
      .execute()
    expect(events).toMatchObject([first, second].map(({ id }) => ({ deviceId: id, event: { audit_id: audit?.id } })))
  })

  it('does not restart a device again that is to restart already, and records who has asked', async () => {
    const [device, other] = (await newDevices(2)) as [MadeDevice, MadeDevice]
    const session = await connectDevice(server.ctx, device.mac)
    await connectDevice(server.ctx, other.mac)
    const path = `/sites/${siteId}/devices/${device.id}/restart`
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.call('POST', path, { body: {} })))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: {} })
    expect(await commandsOf(device)).toEqual([{ kind: 'restart', params: {}, state: 'queued' }])
    expect(await auditsOf(`Restart device ${device.mac}`)).toHaveLength(20)
    const requested = server.ctx.db.selectFrom('deviceEvent').select('id').where('type', '=', 'AP_RESTART_BY_USER')
    expect(await requested.where('deviceId', '=', device.id).execute()).toHaveLength(1)

    expect(await restart({ device_ids: [device.id, other.id] })).toMatchObject({
      status: 200,
      body: { restarted: [device.id, other.id] },
    })
    expect(await commandsOf(device)).toHaveLength(1)
    expect(await commandsOf(other)).toHaveLength(1)

    // It has agreed, and its connection has not ended yet.
    const end = (epoch: string) =>
      server.ctx.db
        .updateTable('deviceCommand')
        .set({ state: 'done', epoch, finishedAt: server.ctx.clock.now() })
        .where('deviceId', '=', device.id)
        .where('state', '=', 'queued')
        .execute()
    await end(session.epoch)
    expect((await server.call('POST', path, { body: {} })).status).toBe(200)
    expect(await commandsOf(device)).toHaveLength(1)
    await connectDevice(server.ctx, device.mac)
    expect((await server.call('POST', path, { body: {} })).status).toBe(200)
    expect(await commandsOf(device)).toHaveLength(2)
  })

  it('restarts each part of a device once', async () => {
    const device = await newDevice('SRX320')
    const capabilities: DeviceCapabilities = { ...stockCapabilities('gateway'), restart_nodes: ['node0', 'node1'] }
    await connectDevice(server.ctx, device.mac, { type: 'gateway', capabilities })
    for (const node of ['node0', 'node1', 'node1', undefined])
      expect((await restart({ device_ids: [device.id], ...(node && { node }) })).status).toBe(200)
    expect((await commandsOf(device)).map(({ params }) => params)).toEqual([{ node: 'node0' }, { node: 'node1' }, {}])
  })

  it('restarts one node of clusters', async () => {
    const device = await newDevice('SRX320')
    const capabilities: DeviceCapabilities = { ...stockCapabilities('gateway'), restart_nodes: ['node0', 'node1'] }
    await connectDevice(server.ctx, device.mac, { type: 'gateway', capabilities })
    const { body: stats } = await server.call('GET', `/sites/${siteId}/stats/devices/${device.id}`)
    expect(stats.capabilities).toMatchObject({ restart_nodes: ['node0', 'node1'], commands: capabilities.commands })
    expect((await restart({ device_ids: [device.id], node: 'node1' })).status).toBe(200)
    expect(await commandsOf(device)).toMatchObject([{ params: { node: 'node1' } }])
    expect(await auditsOf(`Restart device ${device.mac}`)).toHaveLength(1)
  })

  it("restarts no device if one is not in the site, can't do it, or is being upgraded", async () => {
    const [device, upgrading] = (await newDevices(2)) as [MadeDevice, MadeDevice]
    await connectDevice(server.ctx, device.mac)
    await connectDevice(server.ctx, upgrading.mac)
    const elsewhere = await addSite(server, 'Elsewhere')
    const foreign = await claimNewDevice(server, { siteId: elsewhere })
    const orgUpgradeId = randomUUID()
    await giveToUpgrade(server.ctx.db, upgrading.id, { orgUpgradeId, inFlight: true })
    const ids = [device.id, foreign.id, upgrading.id]
    expect(await restart({ device_ids: ids })).toMatchObject({
      status: 400,
      body: { error: [foreign.id, upgrading.id], reason: ['not found', expect.stringContaining(orgUpgradeId)] },
    })
    expect(await restart({ device_ids: [device.id], node: 'node0' })).toMatchObject({
      status: 400,
      body: { error: [device.id], reason: ["The device can't restart node node0 alone"] },
    })
    expect(await commandsOf(device)).toEqual([])
  })

  it('refuses a request in which no device is connected, or that names none', async () => {
    const offline = await newDevice()
    expect(await restart({ device_ids: [offline.id] })).toMatchObject({
      status: 400,
      body: { error: [offline.id], reason: ['offline'] },
    })
    for (const body of [
      '',
      {},
      { device_ids: [] },
      { device_ids: 'all' },
      { device_ids: ['x'] },
      { device_ids: [null] },
    ])
      expect(await restart(body), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { detail: expect.any(String) },
      })
    expect((await restart({ device_ids: [offline.id], node: 'node2' })).status).toBe(400)
  })
})

describe('a ping', () => {
  const path = (device: MadeDevice, what: string): string => `/sites/${siteId}/devices/${device.id}/${what}`
  const ping = (device: MadeDevice, body: unknown): Promise<Answer> =>
    server.call('POST', path(device, 'ping'), { body })

  async function connected(): Promise<MadeDevice> {
    const device = await newDevice()
    await connectDevice(server.ctx, device.mac)
    return device
  }

  it('is queued as a command, with its audit record, and its session is the command', async () => {
    const device = await connected()
    const plain = await ping(device, { host: '192.0.2.1' })
    expect(plain).toMatchObject({ status: 200, body: { session: expect.any(String) } })
    const full = { host: 'gw.example.net', count: 3, size: 1400, egress_interface: 'eth0' }
    expect((await ping(device, full)).status).toBe(200)
    expect(await commandsOf(device)).toEqual([
      { kind: 'ping', params: { host: '192.0.2.1', count: 10, size: 56 }, state: 'queued' },
      { kind: 'ping', params: full, state: 'queued' },
    ])
    expect(await auditsOf(`Ping 192.0.2.1 from device ${device.mac}`)).toMatchObject([
      { adminId: server.org.adminId, after: { mac: device.mac, host: '192.0.2.1' } },
    ])
    const command = await server.call('GET', path(device, `commands/${plain.body.session}`))
    expect(command.body).toMatchObject({ id: plain.body.session, kind: 'ping', status: 'queued', device_id: device.id })
    expect(command.body).not.toHaveProperty('output')
  })

  it('is read with its output, alone and, without the output, in the list of the newest first', async () => {
    const device = await connected()
    const ids: string[] = []
    for (const outcome of [
      { state: 'done', outcome: { text: '3 packets received' } },
      { state: 'rejected', outcome: { code: '3', text: 'invalid signature', final: false } },
      { state: 'unknown', outcome: { why: 'timeout' } },
    ] as const) {
      const { body } = await ping(device, { host: '::1' })
      ids.push(body.session)
      const ended = { ...outcome, outcome: JSON.stringify(outcome.outcome), finishedAt: new Date() }
      await server.ctx.db.updateTable('deviceCommand').set(ended).where('id', '=', body.session).execute()
    }
    const list = await server.call('GET', path(device, 'commands?limit=2'))
    expect(list.headers.get('x-page-total')).toBe('3')
    expect(list.body).toMatchObject([
      { id: ids[2], status: 'unknown', reason: 'timeout', finished_time: expect.any(Number) },
      { id: ids[1], status: 'rejected', reason: 'invalid signature' },
    ])
    const done = await server.call('GET', path(device, `commands/${ids[0]}`))
    expect(done.body).toMatchObject({ status: 'done', output: '3 packets received', params: { host: '::1' } })
    const [, , first] = (await server.call('GET', path(device, 'commands'))).body
    expect(first).not.toHaveProperty('output')
    const other = await connected()
    expect((await server.call('GET', path(other, `commands/${ids[0]}`))).status).toBe(404)
    expect((await server.call('GET', path({ ...device, id: randomUUID() }, 'commands'))).status).toBe(404)
  })

  it('is listed beside the commands of upgrades, which name theirs', async () => {
    const device = await connected()
    const { body: upgrading } = await ping(device, { host: '::1' })
    const { body: plain } = await ping(device, { host: '::1' })
    const set = { siteUpgradeId: randomUUID(), kind: 'upgrade' as const }
    await server.ctx.db.updateTable('deviceCommand').set(set).where('id', '=', upgrading.session).execute()
    const { body: list } = await server.call('GET', path(device, 'commands'))
    expect(list).toMatchObject([
      { id: plain.session, kind: 'ping' },
      { id: upgrading.session, kind: 'upgrade', upgrade_id: set.siteUpgradeId },
    ])
    expect(list[0]).not.toHaveProperty('upgrade_id')
    expect((await server.call('GET', path(device, `commands/${upgrading.session}`))).body).toEqual(list[1])
  })

  it.each([
    ['host', { host: '$(reboot)' }],
    ['host', { host: 'a;reboot' }],
    ['host', { host: '`reboot`' }],
    ['host', { host: "'; reboot; '" }],
    ['host', { host: 'a\nreboot' }],
    ['host', { host: '-f' }],
    ['host', { host: 'fe80::1%eth0' }],
    ['host', { host: 'a b' }],
    ['host', { host: '' }],
    ['host', { host: 'a'.repeat(300) }],
    ['host', { host: 1 }],
    ['host', {}],
    ['egress_interface', { host: 'a', egress_interface: 'eth0;x' }],
    ['egress_interface', { host: 'a', egress_interface: '-I' }],
    ['count', { host: 'a', count: 0 }],
    ['count', { host: 'a', count: 101 }],
    ['count', { host: 'a', count: 1.5 }],
    ['size', { host: 'a', size: 55 }],
    ['size', { host: 'a', size: 65_536 }],
    ['node', { host: 'a', node: 'node0' }],
    ['node', { host: 'a', node: 'node2' }],
  ])('is refused by the name of the field %s: %j', async (field, body) => {
    const device = await connected()
    const answer = await ping(device, body)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(field) } })
    expect(await commandsOf(device)).toEqual([])
  })

  it('is refused for devices that are offline or run signed scripts only', async () => {
    const offline = await newDevice()
    expect((await ping(offline, { host: 'a' })).body.detail).toBe('Cannot ping from an offline device')
    const signed = await newDevice()
    const capabilities: DeviceCapabilities = { ...stockCapabilities(), commands: ['restart', 'upgrade'] }
    await connectDevice(server.ctx, signed.mac, { capabilities })
    expect((await ping(signed, { host: 'a' })).body.detail).toBe("The device can't send pings for somebody")
  })
})
