import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:https'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { issueDeviceCertificate, makeCa } from '../../src/gateway/device-ca.ts'
import type { Gateway } from '../../src/gateway/start-gateway.ts'
import { compressParams } from '../../src/gateway/jsonrpc.ts'
import { issueCertificate } from '../support/client-certificates.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type GatewayHarness, connectParams, createGatewayHarness, newMac, openDevice } from './harness.ts'

let harness: GatewayHarness & { close(): Promise<void> }
beforeAll(async () => {
  harness = await createGatewayHarness()
})
afterAll(() => harness.close())

const untilConnected = (mac: string, connected = true): Promise<unknown> =>
  waitUntil(`connected ${connected}`, async () => (await harness.status(mac)).connected === connected)

function counted(gateway: Gateway, name: keyof ReturnType<Gateway['counters']['read']>): Promise<unknown> {
  return waitUntil(`count of ${name}`, () => gateway.counters.read()[name] > 0)
}

const upgradeRequest = [
  'GET / HTTP/1.1',
  'Host: a',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  '\r\n',
].join('\r\n')

/** Completes the TLS handshake of a device that has sent no request yet. */
async function openTls(port: number): Promise<TLSSocket> {
  const { certificatePem: cert, keyPem: key } = await issueDeviceCertificate(harness.ca, newMac())
  const socket = connectTls({ host: '127.0.0.1', port, ca: harness.ca.certificatePem, cert, key }).resume()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Returns the first line of the gateway's answer; null if the gateway closes instead. */
function firstLine(socket: TLSSocket): Promise<string | null> {
  return new Promise((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1').split('\r\n', 1)[0] ?? ''))
    socket.once('close', () => resolve(null))
  })
}

describe('mutual TLS', () => {
  test("admits a device with a certificate of the gateway's CA, under the MAC of its certificate", async () => {
    const gateway = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, { mac })
    device.hello()
    await untilConnected(mac)
    expect((await harness.status(mac)).firmware).toBe('1.0.0')
  })

  test('refuses a certificate of another CA', async () => {
    const gateway = await harness.start()
    const stranger = await makeCa()
    const trust = harness.ca.certificatePem
    const refused = openDevice(gateway.port, stranger, { trust })
    await expect(refused).rejects.toThrow()
    await counted(gateway, 'refused_tls')
  })

  test("refuses a certificate of the gateway's CA that has expired", async () => {
    const gateway = await harness.start()
    const [valid, anHourAgo] = [await issueCertificate(harness.ca, `CN=${newMac()}`), new Date(Date.now() - 3600e3)]
    await openDevice(gateway.port, harness.ca, { identity: valid })
    const identity = await issueCertificate(harness.ca, `CN=${newMac()}`, false, anHourAgo)
    await expect(openDevice(gateway.port, harness.ca, { identity })).rejects.toThrow()
    await counted(gateway, 'refused_tls')
  })

  test("refuses a certificate of the gateway's CA whose name is not a MAC", async () => {
    const gateway = await harness.start()
    await expect(openDevice(gateway.port, harness.ca, { mac: 'gateway' })).rejects.toThrow('403')
    await counted(gateway, 'refused_identity')
  })

  test('drops a connection that sends no complete request within 20 s', async () => {
    const gateway = await harness.start()
    const [silent, slow] = await Promise.all([openTls(gateway.port), openTls(gateway.port)])
    slow.write('GET / HTTP/1.1\r\nHost: a\r\n')
    const closed = Promise.all([silent, slow].map((socket) => once(socket, 'close')))
    harness.advance(19_999)
    slow.write('X-Still: here\r\n')
    const session = await openDevice(gateway.port, harness.ca)
    harness.advance(2)
    await closed
    expect(session.socket.readyState).toBe(session.socket.OPEN)
  })

  test('closes a request without an answer if it may have waited for more than 4 s while the event loop was blocked', async () => {
    // No timer runs in between, as if other work blocked the event loop.
    const gateway = await harness.start({ limits: { tickMs: 1_000_000, lookMs: 1_000_000 } })
    const [prompt, late] = await Promise.all([openTls(gateway.port), openTls(gateway.port)])
    harness.advance(4000)
    prompt.write(upgradeRequest)
    expect(await firstLine(prompt)).toBe('HTTP/1.1 101 Switching Protocols')
    harness.advance(1)
    late.write(upgradeRequest)
    expect(await firstLine(late)).toBeNull()
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_late: 1 })
  })

  test('answers a request on a slow connection whose TLS handshake took more than 4 s', async () => {
    const gateway = await harness.start()
    const slow = await openTls(gateway.port)
    harness.advance(15_000)
    // Meanwhile the gateway has read everything that has arrived.
    await openDevice(gateway.port, harness.ca)
    slow.write(upgradeRequest)
    expect(await firstLine(slow)).toBe('HTTP/1.1 101 Switching Protocols')
  })

  test('negotiates no compression, whatever the client offers', async () => {
    const gateway = await harness.start()
    const socket = await openTls(gateway.port)
    const offers = ['Sec-WebSocket-Protocol: ucentral-broker', 'Sec-WebSocket-Extensions: permessage-deflate', '', '']
    const answer = once(socket, 'data')
    socket.write(upgradeRequest.replace('\r\n\r\n', `\r\n${offers.join('\r\n')}`))
    const [head] = (await answer) as [Buffer]
    expect(head.toString('latin1')).toMatch(/^HTTP\/1.1 101 /)
    expect(head.toString('latin1')).not.toMatch(/sec-websocket-extensions/i)
  })

  test('answers plain HTTP requests with 426', async () => {
    const gateway = await harness.start()
    const { certificatePem: cert, keyPem: key } = await issueDeviceCertificate(harness.ca, newMac())
    const status = await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port: gateway.port, ca: harness.ca.certificatePem, cert, key }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).on('error', reject)
    })
    expect(status).toBe(426)
  })
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
    await untilConnected(mac)
    await device.untilTelemetryCall()
    expect(device.socket.readyState).toBe(device.socket.OPEN)
    expect((await harness.status(mac)).firmware).toBe('1.0.0')
  },
)

describe('bad input closes the session or is dropped, and affects no other session', () => {
  test('a serial that differs from the certificate closes the session and does not affect its victim', async () => {
    const gateway = await harness.start()
    const victim = newMac()
    await harness.claim(victim)
    const good = await openDevice(gateway.port, harness.ca, { mac: victim })
    good.hello()
    await untilConnected(victim)
    const bad = await openDevice(gateway.port, harness.ca)
    bad.hello(connectParams(victim))
    expect(await bad.closed).toBe(1008)
    expect(gateway.counters.read().wrong_serial).toBe(1)
    const command = await harness.queue(victim, { kind: 'restart', params: {} })
    good.reply((await good.nextCall()).id, { error: 0 })
    await harness.untilCommand(command, 'done')
  })

  test('drops garbage, binary frames, unknown methods and replies to unknown ids, and keeps the session', async () => {
    const gateway = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, { mac })
    device.hello()
    await device.untilTelemetryCall()
    device.socket.send('{"jsonrpc":')
    device.socket.send(Buffer.from([0, 1, 2, 255]))
    device.socket.send('[]')
    device.send('no_such_method', {})
    device.send('__proto__', {})
    device.send('state', { state: 'a text' })
    device.reply(77, { error: 0 })
    device.send('state', { state: { unit: { uptime: 12, memory: { total: 100, free: 50 } } } })
    await waitUntil('the state', async () => (await harness.status(mac)).load !== null)
    expect(gateway.counters.read()).toMatchObject({
      malformed_frame: 3,
      unknown_method: 2,
      invalid_message: 1,
      unknown_reply: 1,
      message_failed: 0,
    })
    expect((await harness.status(mac)).load).toEqual({ memory_total: 100, memory_free: 50, uptime_s: 12 })
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
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, { mac })
    device.hello({ firmware: 'a\u0000b\ud800' })
    await untilConnected(mac)
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
    const mac = newMac()
    await harness.claim(mac)
    const first = await openDevice(gateway.port, harness.ca, { mac })
    first.hello()
    await untilConnected(mac)
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
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(gateway.port, harness.ca, { mac })
    device.hello()
    await untilConnected(mac)
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
    await untilConnected(mac, false)
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
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(gateway.port, harness.ca, { mac })
  device.hello()
  await untilConnected(mac)
  const session = harness.ctx.db.selectFrom('deviceSession').select('family').where('deviceId', '=', deviceIdOf(mac))
  expect(await session.executeTakeFirstOrThrow()).toEqual({ family: 'ucentral' })
})

test('fields outside the protocol are not stored', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(gateway.port, harness.ca, { mac })
  const member = { member: 0, mac: '0a0000000001', serial: 's', model: 'm', firmware: '1' }
  const extension = { protocol: 1, methods: ['reboot'], junk: 'a', members: [{ ...member, junk: 'b' }] }
  device.hello({ capabilities: { compatible: 'test_model', junk: 'c', 'x-signalbox': extension } })
  await untilConnected(mac)
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
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(gateway.port, harness.ca, { mac })
  device.hello()
  await device.untilTelemetryCall()
  const packed = compressParams({
    serial: mac,
    state: { unit: { uptime: 5, cpu_load: [7] }, interfaces: [{}, { ipv4: { addresses: ['10.0.0.7/16'] } }] },
  })
  device.socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'state', params: packed }))
  await waitUntil('the state', async () => (await harness.status(mac)).load !== null)
  expect((await harness.status(mac)).load).toEqual({ cpu_percent: 7, uptime_s: 5, ip: '10.0.0.7' })
})

describe('connections beyond the number of concurrent TLS handshakes', () => {
  const admission = { perSecond: 1, burst: 1, handshakes: 10, waitMs: 2000 }

  test('wait for their turn, and have their full time for the upgrade from then on', async () => {
    const gateway = await harness.start({ limits: { admission, upgradeMs: 500 } })
    await openDevice(gateway.port, harness.ca)
    // This is one more than the number that can be admitted within the wait.
    const results = Promise.allSettled([1, 2, 3].map(() => openDevice(gateway.port, harness.ca)))
    await counted(gateway, 'refused_busy')
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_busy: 1 })
    for (const sessions of [2, 3]) {
      harness.advance(1000)
      await waitUntil('another session', () => gateway.counters.read().sessions === sessions)
    }
    expect((await results).filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(gateway.counters.read()).toMatchObject({ refused_busy: 1, refused_late: 0 })
  })

  test('are closed if they have waited too long', async () => {
    const gateway = await harness.start({ limits: { admission: { ...admission, waitMs: 900 } } })
    await openDevice(gateway.port, harness.ca)
    const results = Promise.allSettled([1, 2].map(() => openDevice(gateway.port, harness.ca)))
    await counted(gateway, 'refused_busy')
    harness.advance(901)
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(gateway.counters.read()).toMatchObject({ sessions: 1, refused_busy: 2 })
  })
})
