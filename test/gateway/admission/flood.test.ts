import { isDeepStrictEqual } from 'node:util'
import { deflateSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { compressParams, encodeNotification } from '../../../src/gateway/websockets/jsonrpc.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  type GatewayHarness,
  type RunningGateway,
  type TestDevice,
  createGatewayHarness,
  newMac,
  openDevice,
} from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** Connects a claimed device that sends nothing that the test does not count. */
async function connect(gateway: RunningGateway, mac = newMac()): Promise<TestDevice> {
  await harness.claim(mac)
  const device = await openDevice(gateway.port, harness.ca, { mac, answersTelemetry: false })
  device.hello()
  await waitUntil('connected', async () => (await harness.status(mac)).connected)
  return device
}

async function untilLoad({ mac }: TestDevice, load: unknown): Promise<void> {
  await waitUntil('the load', async () => isDeepStrictEqual((await harness.status(mac)).load, load))
}

function counted(
  gateway: RunningGateway,
  name: 'malformed_frame' | 'refused_flooding',
  count: number,
): Promise<unknown> {
  return waitUntil(`${count} of ${name}`, () => gateway.counters.read()[name] === count)
}

/** The messages that a device may send in one burst after it has connected: 1000, less those of the connection. */
const BURST = 949

function flood(device: TestDevice, from: number, to: number): void {
  for (let sanity = from; sanity <= to; sanity += 1) device.send('healthcheck', { sanity: sanity / 100 })
}

const untilSanity = (device: TestDevice, sanity: number) => untilLoad(device, { sanity_percent: sanity / 100 })

const compressed = (text: string): string =>
  JSON.stringify({ method: 'state', params: { compress_64: deflateSync(text).toString('base64') } })

describe('a device that sends more than its allowance', () => {
  test('is read more slowly but completely, and stays connected if it catches up', async () => {
    const device = await connect(await harness.start({ limits: { deadMs: 1e9 } }))
    flood(device, 1, BURST + 150)
    await untilSanity(device, BURST)
    harness.advance(1000)
    await untilSanity(device, BURST + 100)
    harness.advance(1000)
    await untilSanity(device, BURST + 150)
    harness.advance(60_000)
    flood(device, 1, BURST)
    await untilSanity(device, BURST)
    expect(device.socket.readyState).toBe(device.socket.OPEN)
  })

  test('is closed if it continues for 5 s, while others are served, and gets no new session for 32 s', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 } })
    const [device, other] = [await connect(gateway), await connect(gateway)]
    flood(device, 1, 2000)
    await untilSanity(device, BURST)
    flood(other, 1, 2)
    await untilSanity(other, 2)
    harness.advance(5000)
    expect(await device.closed).toBe(1008)
    expect(gateway.counters.read()).toMatchObject({ flood: 1, malformed_frame: 0 })
    const told = harness.ctx.db.selectFrom('systemEvent').select(['orgId', 'type', 'details'])
    await waitUntil('the event', async () => (await told.execute()).length === 1)
    expect(await told.executeTakeFirst()).toMatchObject({
      orgId: harness.orgId,
      type: 'DEVICE_SENDS_TOO_MUCH',
      details: { mac: device.mac, device_type: 'ap' },
    })
    const again = () => openDevice(gateway.port, harness.ca, { mac: device.mac, answersTelemetry: false })
    for (const refused of [1, 2]) {
      const attempt = expect(again()).rejects.toThrow()
      await counted(gateway, 'refused_flooding', refused)
      // The gateway refuses by silence, until the time for the upgrade has passed.
      harness.advance(4001)
      await attempt
      harness.advance(11_000)
    }
    harness.advance(2000)
    await again()
    expect(gateway.counters.read()).toMatchObject({ sessions: 3, refused_flooding: 2, refused_late: 0 })
    expect(other.socket.readyState).toBe(other.socket.OPEN)
  })

  test('has one allowance for all its sessions', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 } })
    const device = await connect(gateway)
    flood(device, 1, 800)
    await untilSanity(device, 800)
    const second = await openDevice(gateway.port, harness.ca, { mac: device.mac, answersTelemetry: false })
    second.hello()
    expect(await device.closed).toBe(4409)
    flood(second, 1, 200)
    await untilSanity(second, BURST - 800 - 51)
  })

  test('may not send unreadable frames either, except one now and then', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 } })
    const device = await connect(gateway)
    for (let sent = 1; sent <= 40; sent += 1) {
      device.socket.send('{"cpu_load":[-inf]}')
      await counted(gateway, 'malformed_frame', sent)
      harness.advance(1000)
    }
    for (let sent = 0; sent < 40; sent += 1) device.socket.send('garbage')
    await counted(gateway, 'malformed_frame', 60)
    harness.advance(5000)
    expect(await device.closed).toBe(1008)
    expect(gateway.counters.read().malformed_frame).toBe(60)
  })

  test('is closed for the inflated size of its messages', async () => {
    const gateway = await harness.start()
    const device = await connect(gateway)
    const bomb = compressed('{},'.repeat(690_000))
    expect(bomb.length).toBeLessThan(4000)
    for (let sent = 0; sent < 50; sent += 1) device.socket.send(bomb)
    await counted(gateway, 'malformed_frame', 4)
    harness.advance(5000)
    expect(await device.closed).toBe(1008)
    expect(gateway.counters.read().malformed_frame).toBe(4)
  })

  test('is closed for its bytes', async () => {
    const gateway = await harness.start()
    const device = await connect(gateway)
    for (let sent = 0; sent < 8; sent += 1) device.send('log', { log: 'x'.repeat(400_000) })
    device.send('healthcheck', { sanity: 1 })
    await waitUntil('closed', () => {
      harness.advance(100)
      return device.socket.readyState === device.socket.CLOSED
    })
    expect(await device.closed).toBe(1008)
    expect((await harness.status(device.mac)).load).toBeNull()
  })

  test('is closed for its pings', async () => {
    const gateway = await harness.start()
    const device = await connect(gateway)
    let pongs = 0
    device.socket.on('pong', () => (pongs += 1))
    for (let sent = 0; sent < 3000; sent += 1) device.socket.ping()
    await waitUntil('pongs', () => pongs === BURST - 1)
    harness.advance(5000)
    expect(await device.closed).toBe(1008)
    expect(pongs).toBe(BURST - 1)
  })
})

describe('the messages of real devices', () => {
  test('include the state of a switch with 54 ports and 8,000 addresses, which is read, compressed or not', async () => {
    const device = await connect(await harness.start())
    for (const free of [1, 2]) {
      const params = { serial: device.mac, state: { ...bigState(), unit: { memory: { free } } } }
      const packed = free === 1 ? params : compressParams(params)
      expect(JSON.stringify(params).length).toBeGreaterThan(140_000)
      device.socket.send(encodeNotification('state', packed))
      await untilLoad(device, { memory_free: free, ip: '10.0.0.7' })
    }
  })

  test('include packets of a RADIUS proxy, each dropped at the cost of any other message', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 } })
    const device = await connect(gateway)
    for (let sent = 1; sent < BURST; sent += 1) device.socket.send('{"radius":"auth","data":"AQAAFA=="}')
    flood(device, 1, 1)
    await untilSanity(device, 1)
    expect(gateway.counters.read().malformed_frame).toBe(0)
  })

  test('include compressed content of no use, which is not inflated', async () => {
    const gateway = await harness.start()
    const device = await connect(gateway)
    const params = JSON.parse(compressed(' '.repeat(1_000_000))) as { params: Record<string, unknown> }
    for (let sent = 0; sent < 50; sent += 1)
      device.socket.send(JSON.stringify({ method: 'alarm', params: params.params }))
    flood(device, 1, 1)
    await untilSanity(device, 1)
    expect(gateway.counters.read()).toMatchObject({ malformed_frame: 0, invalid_message: 0 })
  })

  test('include the stored events of an access point after an outage, and one event a second during an upgrade', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 } })
    const device = await connect(gateway)
    const event = (type: string, payload: unknown) => device.send('event', { data: { event: [1, { type, payload }] } })
    for (let stored = 0; stored < 500; stored += 1) event('client.join', { bssid: 'a', client: 'b', band: '5G' })
    for (let second = 1; second <= 100; second += 1) {
      event('firmware_upgrade_status', { operation: 'download', percentage: second })
      flood(device, second, second)
      await untilSanity(device, second)
      harness.advance(1000)
    }
    expect(device.socket.readyState).toBe(device.socket.OPEN)
    expect(gateway.counters.read()).toMatchObject({ flood: 0, invalid_message: 0 })
  })
})

function bigState(): Record<string, unknown> {
  const counters = { collisions: 0, multicast: 7, rx_bytes: 1e12, rx_packets: 1e9, tx_bytes: 1e12, tx_packets: 1e9 }
  const port = { carrier: 1, duplex: 'full', speed: 1000, counters, poe: { status: 'delivering', 'power-draw': 5.5 } }
  const ports = Object.fromEntries(Array.from({ length: 54 }, (_, index) => [`Ethernet${index}`, port]))
  const macs = Array.from({ length: 8000 }, (_, index) => index.toString(16).padStart(12, '0'))
  return {
    'link-state': { upstream: ports, downstream: ports },
    'mac-forwarding-table': { Ethernet0: { 1: macs } },
    interfaces: [{ ipv4: { addresses: ['10.0.0.7/16'] } }],
  }
}
