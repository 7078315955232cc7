import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import type { DeviceType } from '../../../src/events/device-type.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
let port: number
let mac: string
beforeAll(async () => {
  harness = await createGatewayHarness()
})
beforeEach(async () => {
  // The clock advances by hours, and the test devices do not answer pings.
  const limits = { deadMs: 1e9, helloMs: 1e9, pingMs: 1e9 }
  port = (await harness.start({ limits })).port
  mac = newMac()
})

async function epochOf(device: string): Promise<string | undefined> {
  const session = harness.ctx.db.selectFrom('deviceSession').select('epoch').where('deviceId', '=', deviceIdOf(device))
  return (await session.executeTakeFirst())?.epoch
}

async function connect(params: Readonly<Record<string, unknown>> = {}, answersTelemetry = true): Promise<TestDevice> {
  const before = await epochOf(mac)
  const device = await openDevice(port, harness.ca, { mac, answersTelemetry })
  device.hello(params)
  await waitUntil('a new session', async () => (await epochOf(mac)) !== before)
  await device.untilTelemetryCall()
  return device
}

const switchParams = { reason: undefined, capabilities: { compatible: 'test_switch', platform: 'switch' } }

/** Connects a claimed device that has reported its uptime. */
async function connectKnown(uptimeS: number, type: DeviceType = 'ap'): Promise<TestDevice> {
  await harness.claim(mac, type)
  const device = await connect(type === 'switch' ? switchParams : {})
  await report(device, uptimeS)
  return device
}

/** Reports a state as unconfigured devices do. */
async function report(device: TestDevice, uptimeS: number): Promise<void> {
  sendUptime(device, uptimeS)
  await waitUntil('the report', async () => {
    const { load } = await harness.status(mac)
    return JSON.stringify(load ?? {}).includes(`"uptime_s":${uptimeS}`)
  })
}

function sendUptime(device: TestDevice, uptimeS: number): void {
  const state = { unit: { localtime: 1_700_000_000, uptime: uptimeS, memory: { free: 5 } } }
  device.send('telemetry', { data: { state: [[1_700_000_000, { uuid: 1, serial: mac, state }]] } })
}

/** Waits until the gateway has handled everything that the device has sent so far. */
async function settle(device: TestDevice): Promise<void> {
  const sanity = Math.random() * 100
  device.send('healthcheck', { sanity })
  await waitUntil('everything is handled', async () =>
    JSON.stringify((await harness.status(mac)).load).includes(String(sanity)),
  )
}

async function boots(): Promise<{ count: number; events: unknown[] }> {
  const rows = await harness.ctx.db
    .selectFrom('deviceEvent')
    .select(['type', 'event'])
    .where('deviceId', '=', deviceIdOf(mac))
    .where('type', 'like', '%_RESTARTED')
    .orderBy('id')
    .execute()
  return { count: (await harness.status(mac)).bootCount, events: rows.map(({ event }) => event['reason'] ?? null) }
}

const none = { count: 0, events: [] }

test('the gateway asks a device to report its state as soon as it connects', async () => {
  const device = await openDevice(port, harness.ca, { mac })
  device.hello()
  const call = await waitUntil('the call', () => device.telemetryCalls[0] ?? null)
  expect(call).toEqual({ id: 2, method: 'telemetry', params: { serial: mac, interval: 60, types: ['state'] } })
})

test('the answer to that call does not count as unknown, even if the device refuses it', async () => {
  const gateway = await harness.start()
  const device = await openDevice(gateway.port, harness.ca, { mac, answersTelemetry: false })
  device.hello()
  await waitUntil('the call', () => device.telemetryCalls[0] ?? null)
  device.reply(2, { error: 2, text: 'Invalid Arguments' })
  device.send('no_such_method', {})
  await waitUntil('everything is handled', () => gateway.counters.read().unknown_method === 1)
  expect(gateway.counters.read().unknown_reply).toBe(0)
})

describe('a connect reason is not evidence of a boot', () => {
  test.each(['recovery', 'coldboot', 'reboot', 'upgrade', 'upgradefailed', 'crashlog', 'boot', 'socket'])(
    '%s',
    async (reason) => {
      const before = await connectKnown(50_000)
      before.socket.terminate()
      harness.advance(400_000)
      const after = await connect({ reason })
      await report(after, 50_400)
      expect(await boots()).toEqual(none)
    },
  )
})

describe('evidence of a boot', () => {
  test('is an uptime that decreased; the event contains the connect reason', async () => {
    await connectKnown(50_000)
    const after = await connect({ reason: 'coldboot' })
    await report(after, 40)
    expect(await boots()).toEqual({ count: 1, events: ['coldboot'] })
    harness.advance(60_000)
    await report(after, 100)
    await report(await connect({ reason: 'socket' }), 100)
    expect(await boots()).toEqual({ count: 1, events: ['coldboot'] })
  })

  test('is an uptime shorter than the time since the last one, although that one was short as well', async () => {
    await connectKnown(70)
    harness.advance(150_000)
    const after = await connect({ reason: 'recovery' })
    await report(after, 80)
    // The watchdog of the client reveals nothing about the boot.
    expect(await boots()).toEqual({ count: 1, events: [null] })
  })

  test('is an uptime that does not continue the last one, although its report is late', async () => {
    await connectKnown(70)
    harness.advance(30_000)
    const after = await connect({ reason: 'reboot' })
    harness.advance(40_000)
    // It has been up for 71 s and not for 140, as it would without a boot.
    await report(after, 71)
    expect(await boots()).toEqual({ count: 1, events: ['reboot'] })
  })

  test('is another version, once, even if uptime and event show the same boot', async () => {
    await connectKnown(50_000, 'switch')
    harness.advance(200_000)
    const after = await connect({ ...switchParams, firmware: '2.0.0' })
    after.send('event', { data: { event: [bootedAtS(90), { type: 'device.reboot', payload: { description: '' } }] } })
    await report(after, 90)
    expect(await boots()).toEqual({ count: 1, events: [null] })
  })

  /** Returns the time of the boot of a device with this uptime. */
  function bootedAtS(uptimeS: number): number {
    return harness.ctx.clock.now().getTime() / 1000 - uptimeS
  }

  test.each(['reboot', 'powerloss', 'crash'])('is the event device.%s of a switch, once', async (cause) => {
    await connectKnown(70, 'switch')
    harness.advance(300_000)
    const after = await connect(switchParams)
    after.send('event', {
      data: { event: [bootedAtS(90), { type: `device.${cause}`, payload: { description: 'x' } }] },
    })
    await waitUntil('the boot', async () => (await boots()).count === 1)
    await report(after, 90)
    expect(await boots()).toEqual({ count: 1, events: [cause] })
  })

  test('is no such event about a known boot, which a restarted client sends again', async () => {
    await connectKnown(5000, 'switch')
    harness.advance(30_000)
    const after = await connect(switchParams)
    after.send('event', {
      data: { event: [bootedAtS(5030), { type: 'device.reboot', payload: { description: 'x' } }] },
    })
    // Its clock is ahead, so it would have booted after it connected.
    after.send('event', { data: { event: [bootedAtS(-900), { type: 'device.crash', payload: { description: 'x' } }] } })
    await settle(after)
    await report(after, 5030)
    expect(await boots()).toEqual(none)
  })

  test.each([
    ['accepts', 0],
    ['refuses', 2],
  ])('is not an uptime from the queue that a switch sends before it %s the telemetry call', async (_verb, error) => {
    await connectKnown(14, 'switch')
    harness.advance(150_000)
    const after = await connect(switchParams, false)
    for (const uptimeS of [61, 121]) sendUptime(after, uptimeS)
    after.send('state', { uuid: 1, state: { unit: { uptime: 159, memory: { free: 7 } } } })
    await settle(after)
    expect(await boots()).toEqual(none)
    // The gateway accepts the other contents of the queue.
    expect((await harness.status(mac)).load).toMatchObject({ uptime_s: 14, memory_free: 7 })
    after.reply(2, { error, text: '' })
    await report(after, 164)
    expect(await boots()).toEqual(none)
    harness.advance(60_000)
    await report(after, 20)
    expect((await boots()).count).toBe(1)
  })

  test('is nothing in the first messages of a new device', async () => {
    await harness.claim(mac, 'switch')
    const device = await connect({ ...switchParams, reason: 'coldboot' })
    device.send('event', {
      data: { event: [bootedAtS(30), { type: 'device.powerloss', payload: { description: '' } }] },
    })
    await report(device, 30)
    expect(await boots()).toEqual(none)
  })
})

test('a late report does not move the time of the boot', async () => {
  const bootedAt = async (): Promise<Date | null> => {
    const status = harness.ctx.db.selectFrom('deviceStatus').select('bootedAt')
    return (await status.where('deviceId', '=', deviceIdOf(mac)).executeTakeFirstOrThrow()).bootedAt
  }
  const device = await connectKnown(500)
  const booted = await bootedAt()
  expect(booted).toEqual(new Date(harness.ctx.clock.now().getTime() - 500_000))
  harness.advance(60_000)
  await report(device, 540)
  expect(await bootedAt()).toEqual(booted)
})

test('the gateway accepts a state whose loads are not JSON, and keeps the session', async () => {
  const device = await connectKnown(50)
  const state = '{"unit":{"uptime":110,"cpu_load":[-inf,nan,1],"memory":{"free":1}},"text":"-inf nan"}'
  for (let i = 0; i < 30; i += 1)
    device.socket.send(`{"jsonrpc":"2.0","method":"state","params":{"serial":"${mac}","uuid":1,"state":${state}}}`)
  await settle(device)
  expect((await harness.status(mac)).load).toMatchObject({ uptime_s: 110, memory_free: 1 })
  expect(device.socket.readyState).toBe(device.socket.OPEN)
})

test('a reboot keeps the address of a device, and does not write it for searches again', async () => {
  const versionOfFact = async (): Promise<string | undefined> => {
    const { rows } = await sql<{ version: string }>`
      select xmin::text as version from device_fact where device_id = ${deviceIdOf(mac)} and ip = '10.0.0.7'
    `.execute(harness.ctx.db)
    return rows[0]?.version
  }
  await harness.claim(mac)
  const first = await connect()
  const interfaces = [{ ipv4: { addresses: ['10.0.0.7/16'] } }]
  first.send('state', { state: { unit: { uptime: 500 }, interfaces } })
  await waitUntil('the address', async () => (await versionOfFact()) !== undefined)
  const version = await versionOfFact()
  const second = await connect({ reason: 'reboot', firmware: 'another version' })
  expect((await harness.status(mac)).load).toEqual({ ip: '10.0.0.7' })
  second.send('state', { state: { unit: { uptime: 3 }, interfaces } })
  await waitUntil('the report', async () => JSON.stringify((await harness.status(mac)).load).includes('uptime_s'))
  expect((await harness.status(mac)).load).toEqual({ ip: '10.0.0.7', uptime_s: 3 })
  sendUptime(second, 1)
  await settle(second)
  expect((await harness.status(mac)).load).toMatchObject({ ip: '10.0.0.7', uptime_s: 1 })
  expect(await versionOfFact()).toBe(version)
})

test('a device that has moved to a network without IPv4 has no address any more', async () => {
  const device = await connectKnown(50)
  const addressed = async (uptime: number, interfaces?: readonly object[]) => {
    device.send('state', { state: { unit: { uptime }, interfaces } })
    await settle(device)
    return (await harness.status(mac)).load
  }
  expect(await addressed(110, [{ ipv4: { addresses: ['10.0.0.7/16'] } }])).toMatchObject({ ip: '10.0.0.7' })
  expect(await addressed(120)).toMatchObject({ ip: '10.0.0.7', uptime_s: 120 })
  const load = await addressed(130, [{ name: 'up0v0', ipv6: { addresses: ['2001:db8::7/64'] } }])
  expect(load).toMatchObject({ uptime_s: 130 })
  expect(load).not.toHaveProperty('ip')
})
