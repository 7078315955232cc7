import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { compressParams } from '../../src/gateway/websockets/jsonrpc.ts'
import { waitUntil } from '../support/wait-until.ts'
import { connectDevice } from './connect-device.ts'
import { type GatewayHarness, connectParams, createGatewayHarness, newMac, openDevice } from './harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

test.each([
  ['unknown', 'coldboot'],
  ['AP', 'recovery'],
  ['Switch', 'certupdate'],
  [undefined, undefined],
])(
  'a device connects that calls its platform %s and its reason %s, with an event right behind',
  async (platform, reason) => {
    const gateway = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, { mac })
    const capabilities = { compatible: 'test_model', model: 'Test model', ...(platform !== undefined && { platform }) }
    device.hello({ capabilities, reason })
    device.send('event', { data: { event: [1, { type: 'health', payload: {} }] } })
    await harness.untilConnected(mac)
    await device.untilTelemetryCall()
    expect(device.socket.readyState).toBe(device.socket.OPEN)
    expect((await harness.status(mac)).firmware).toBe('1.0.0')
  },
)

describe('bad input closes the session or is dropped, and affects no other session', () => {
  test('a serial that differs from the certificate closes the session and does not affect its victim', async () => {
    const gateway = await harness.start()
    const good = await connectDevice(harness, gateway.port)
    const bad = await openDevice(gateway.port, harness.ca)
    bad.hello(connectParams(good.mac))
    expect(await bad.closed).toBe(1008)
    expect(gateway.counters.read().wrong_serial).toBe(1)
    const command = await harness.queue(good.mac, { kind: 'restart', params: {} })
    good.reply((await good.nextCall()).id, { error: 0 })
    await harness.untilCommand(command, 'done')
  })

  test('drops garbage, binary frames, unknown methods and replies to unknown ids, and keeps the session', async () => {
    const gateway = await harness.start()
    const device = await connectDevice(harness, gateway.port)
    await device.untilTelemetryCall()
    device.socket.send('{"jsonrpc":')
    device.socket.send(Buffer.from([0, 1, 2, 255]))
    device.socket.send('[]')
    device.send('no_such_method', {})
    device.send('__proto__', {})
    // Access points send it, and nothing in it is of use.
    device.send('venue_broadcast', { data: { type: 'rrm' } })
    device.send('state', { state: 'a text' })
    device.reply(77, { error: 0 })
    device.send('state', { state: { unit: { uptime: 12, memory: { total: 100, free: 50 } } } })
    await waitUntil('the state', async () => Object.keys((await harness.status(device.mac)).load ?? {}).length > 0)
    expect(gateway.counters.read()).toMatchObject({
      malformed_frame: 3,
      unknown_method: 2,
      invalid_message: 1,
      unknown_reply: 1,
      message_failed: 0,
    })
    expect((await harness.status(device.mac)).load).toEqual({ memory_total: 100, memory_free: 50, uptime_s: 12 })
  })

  test('closes a session whose frame is too large', async () => {
    const gateway = await harness.start()
    const device = await openDevice(gateway.port, harness.ca)
    device.socket.send('x'.repeat(512 * 1024 + 1))
    expect(await device.closed).toBe(1009)
  })

  test('closes a session that sends another message before connect', async () => {
    const gateway = await harness.start()
    const device = await openDevice(gateway.port, harness.ca)
    device.send('ping', {})
    expect(await device.closed).toBe(1008)
    expect(gateway.counters.read().not_connected).toBe(1)
  })

  test('closes a session whose connect message lacks required fields', async () => {
    const gateway = await harness.start()
    const device = await openDevice(gateway.port, harness.ca)
    device.send('connect', { firmware: '1.0.0' })
    expect(await device.closed).toBe(1008)
  })

  test('closes a session without a connect message after 30 s', async () => {
    const gateway = await harness.start()
    const device = await openDevice(gateway.port, harness.ca)
    harness.advance(30_000)
    expect(await device.closed).toBe(1008)
  })

  test('stores texts that PostgreSQL would refuse', async () => {
    const gateway = await harness.start()
    const { mac } = await connectDevice(harness, gateway.port, { params: { firmware: 'a\u0000b\ud800' } })
    expect((await harness.status(mac)).firmware).toBe('a\ufffdb\ufffd')
  })
})

test.each([
  ['unknown', 'ap'],
  ['AP', 'ap'],
  ['Switch', 'switch'],
  [undefined, 'ap'],
])('a device with the platform %s gets the type %s', async (platform, type) => {
  const gateway = await harness.start()
  const device = await openDevice(gateway.port, harness.ca)
  device.hello({ capabilities: { compatible: 'test_model', platform } })
  const registered = harness.ctx.db.selectFrom('deviceRegistry').select('type').where('mac', '=', device.mac)
  const row = await waitUntil('it is registered', async () => (await registered.executeTakeFirst()) ?? null)
  expect(row.type).toBe(type)
})

describe('connections of one device', () => {
  test('the newest one replaces the older one, which is closed', async () => {
    const gateway = await harness.start()
    const first = await connectDevice(harness, gateway.port)
    const { mac } = first
    const second = await openDevice(gateway.port, harness.ca, { mac })
    second.hello()
    expect(await first.closed).toBe(4409)
    const command = await harness.queue(mac, { kind: 'restart', params: {} })
    second.reply((await second.nextCall()).id, { error: 0 })
    await harness.untilCommand(command, 'done')
    expect((await harness.status(mac)).connected).toBe(true)
    const own = await harness.ctx.db
      .selectFrom('deviceEvent')
      .select('type')
      .where('deviceId', '=', deviceIdOf(mac))
      .execute()
    expect(own).toEqual([{ type: 'AP_CONNECTED' }])
  })

  test('one that answers pings stays open, a silent one is dead after 150 s', async () => {
    const gateway = await harness.start()
    const device = await connectDevice(harness, gateway.port)
    const { mac } = device
    for (let round = 1; round <= 4; round += 1) {
      const pinged = once(device.socket, 'ping')
      harness.advance(50_000)
      await pinged
      // This message arrives after the pong.
      device.send('healthcheck', { sanity: round })
      const load = { sanity_percent: round }
      await waitUntil('the report', async () => isDeepStrictEqual((await harness.status(mac)).load, load))
    }
    device.socket.pause()
    harness.advance(150_000)
    await harness.untilConnected(mac, false)
  })
})

test('a device has at most one socket that has not sent connect', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  const first = await openDevice(gateway.port, harness.ca, { mac })
  const other = await openDevice(gateway.port, harness.ca)
  const second = await openDevice(gateway.port, harness.ca, { mac })
  expect(await first.closed).toBe(1006)
  expect([other, second].map(({ socket }) => socket.readyState)).toEqual([1, 1])
})

test('the session of a device contains its protocol', async () => {
  const gateway = await harness.start()
  const { mac } = await connectDevice(harness, gateway.port)
  const session = harness.ctx.db.selectFrom('deviceSession').select('family').where('deviceId', '=', deviceIdOf(mac))
  expect(await session.executeTakeFirstOrThrow()).toEqual({ family: 'ucentral' })
})

test('fields outside the protocol are not stored', async () => {
  const gateway = await harness.start()
  const member = { member: 0, mac: '0a0000000001', serial: 's', model: 'm', firmware: '1' }
  const extension = { protocol: 1, methods: ['reboot'], junk: 'a', members: [{ ...member, junk: 'b' }] }
  const capabilities = { compatible: 'test_model', junk: 'c', 'x-signalbox': extension }
  const { mac } = await connectDevice(harness, gateway.port, { params: { capabilities } })
  const status = harness.ctx.db
    .selectFrom('deviceStatus')
    .select(['capabilities', 'members'])
    .where('deviceId', '=', deviceIdOf(mac))
  const members = [member]
  expect(await status.executeTakeFirstOrThrow()).toEqual({
    capabilities: {
      commands: ['restart', 'upgrade', 'locate', 'unlocate', 'ping', 'support'],
      restart_members: [0],
      restart_nodes: ['node0', 'node1'],
    },
    members,
  })
})

test('a compressed state is understood', async () => {
  const gateway = await harness.start()
  const device = await connectDevice(harness, gateway.port)
  const { mac } = device
  await device.untilTelemetryCall()
  const packed = compressParams({
    serial: mac,
    state: { unit: { uptime: 5, cpu_load: [7] }, interfaces: [{}, { ipv4: { addresses: ['10.0.0.7/16'] } }] },
  })
  device.socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'state', params: packed }))
  await waitUntil('the state', async () => (await harness.status(mac)).load !== null)
  expect((await harness.status(mac)).load).toEqual({ cpu_percent: 7, uptime_s: 5, ip: '10.0.0.7' })
})
