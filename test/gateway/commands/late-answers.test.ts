import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { aSwitch } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const restart = { kind: 'restart' as const, params: {} }
const upgrade = { kind: 'upgrade' as const, params: { image_id: randomUUID(), version: '2.0.0' } }

async function connect(port: number, mac: string, params: Readonly<Record<string, unknown>> = {}): Promise<TestDevice> {
  const before = await epochOf(mac)
  const device = await openDevice(port, harness.ca, { mac })
  device.hello(params)
  await waitUntil('a new session', async () => (await epochOf(mac)) !== before)
  return device
}

async function epochOf(mac: string): Promise<string | undefined> {
  const session = harness.ctx.db.selectFrom('deviceSession').select('epoch').where('deviceId', '=', deviceIdOf(mac))
  return (await session.executeTakeFirst())?.epoch
}

async function claimAndConnect(port: number): Promise<TestDevice> {
  const mac = newMac()
  await harness.claim(mac)
  return connect(port, mac)
}

/** Sends a command to the device and breaks its connection before it answers. */
async function loseConnection(device: TestDevice, order: typeof restart | typeof upgrade = upgrade) {
  const id = await harness.queue(device.mac, order)
  const call = await device.nextCall()
  device.socket.terminate()
  expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
  return { id, callId: call.id }
}

describe('an answer that arrives on a newer session', () => {
  test('settles its own command, and not the one that is in flight', async () => {
    const { port } = await harness.start()
    const device = await claimAndConnect(port)
    const lost = await loseConnection(device)
    const again = await connect(port, device.mac)
    const next = await harness.queue(device.mac, upgrade)
    const call = await again.nextCall()
    again.reply(lost.callId, { error: 2, text: 'Firmware image validation failed' })
    expect(await harness.untilCommand(lost.id, 'rejected')).toMatchObject({
      code: '2',
      text: 'Firmware image validation failed',
    })
    expect((await harness.command(next)).state).toBe('sent')
    again.reply(call.id, { error: 0, text: 'Triggering FW upgrade' })
    await harness.untilCommand(next, 'done')
  })

  test('settles its command even if the gateway was restarted meanwhile', async () => {
    const first = await harness.start()
    const device = await claimAndConnect(first.port)
    const id = await harness.queue(device.mac, upgrade)
    const call = await device.nextCall()
    await first.stop()
    const second = await harness.start()
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'gateway_lost' })
    const again = await connect(second.port, device.mac)
    again.reply(call.id, { error: 0, text: 'Triggering FW upgrade' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'Triggering FW upgrade', lost: 'gateway_lost' })
  })

  test('settles no command of a service whose database was restored to a point before the call', async () => {
    const first = await harness.start()
    const device = await claimAndConnect(first.port)
    const lost = await loseConnection(device)
    await first.stop()
    // The restored database knows neither the call nor that its id was assigned.
    const { db } = harness.ctx
    await db.deleteFrom('deviceCommand').where('id', '=', lost.id).execute()
    await sql`select setval('device_call_id', ${lost.callId}, false)`.execute(db)
    const second = await harness.start()
    const again = await connect(second.port, device.mac)
    const next = await harness.queue(device.mac, upgrade)
    const call = await again.nextCall()
    expect(call.id).not.toBe(lost.callId)
    const before = second.counters.read().unknown_reply
    again.reply(lost.callId, { error: 2, text: 'Firmware image validation failed' })
    await waitUntil('the reply is dropped', () => second.counters.read().unknown_reply === before + 1)
    expect((await harness.command(next)).state).toBe('sent')
    again.reply(call.id, { error: 0, text: 'Triggering FW upgrade' })
    await harness.untilCommand(next, 'done')
  })

  test('settles nothing for another device, for unknown ids, or twice', async () => {
    const gateway = await harness.start()
    const device = await claimAndConnect(gateway.port)
    const lost = await loseConnection(device)
    const other = await claimAndConnect(gateway.port)
    const unknown = (): number => gateway.counters.read().unknown_reply
    for (const id of [lost.callId, 77, 2 ** 31, 2 ** 40, -5]) {
      const before = unknown()
      other.reply(id, { error: 0 })
      await waitUntil(`the reply ${id} is dropped`, () => unknown() === before + 1)
    }
    expect((await harness.command(lost.id)).state).toBe('unknown')
    const again = await connect(gateway.port, device.mac)
    again.reply(lost.callId, { error: 0, text: 'first' })
    await harness.untilCommand(lost.id, 'done')
    const before = unknown()
    again.reply(lost.callId, { error: 1, text: 'second' })
    await waitUntil('the second answer is dropped', () => unknown() === before + 1)
    expect(await harness.command(lost.id)).toMatchObject({ state: 'done', outcome: { text: 'first' } })
  })

  test('does not revive a command whose wait has ended: the device took too long', async () => {
    const gateway = await harness.start()
    const device = await claimAndConnect(gateway.port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    harness.advance(30_000)
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'timeout' })
    const again = await connect(gateway.port, device.mac)
    again.reply(call.id, { error: 0 })
    await waitUntil('the late answer is dropped', () => gateway.counters.read().unknown_reply === 1)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('settles its command even if the older session is still open', async () => {
    const gateway = await harness.start()
    const device = await claimAndConnect(gateway.port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    const newer = await openDevice(gateway.port, harness.ca, { mac: device.mac })
    newer.hello()
    expect(await device.closed).toBe(4409)
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
    newer.reply(call.id, { error: 0, text: 'rebooting' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'rebooting', lost: 'connection_lost' })
  })
})

describe('the end of an upgrade that a switch reports on a newer session', () => {
  /** Connects a switch that has accepted an upgrade and installs it, and restarts its gateway. */
  async function interrupt({ delivered = true } = {}): Promise<{ device: TestDevice; id: string }> {
    const first = await harness.start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    const device = await connect(first.port, mac, aSwitch.params)
    const id = await harness.queue(mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 0, text: 'upgrade requested successfully' })
    if (delivered) await deliver(id)
    await first.stop()
    const second = await harness.start()
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'gateway_lost' })
    return { device: await connect(second.port, mac, aSwitch.params), id }
  }

  async function deliver(commandId: string): Promise<void> {
    const row = await harness.ctx.db.selectFrom('deviceCommand').select('orgId').where('id', '=', commandId).execute()
    const at = harness.ctx.clock.now()
    const download = { orgId: row[0]?.orgId ?? '', commandId, imageId: upgrade.params.image_id, startedAt: at }
    await harness.ctx.db
      .insertInto('firmwareDownload')
      .values({ ...download, touchedAt: at, touchedMs: 0, bytesServed: '1000', deliveredAt: at })
      .execute()
  }

  function reportOperation(device: TestDevice, operation: string, laterS = 60): void {
    const atS = Math.floor(harness.ctx.clock.now().getTime() / 1000) + laterS
    device.send('event', { data: { event: [atS, { type: 'firmware_upgrade_status', payload: { operation } }] } })
  }

  /** Waits until the gateway has handled everything that the device has sent so far. */
  async function untilHandled(device: TestDevice): Promise<void> {
    const id = await harness.queue(device.mac, restart)
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(id, 'done')
  }

  test('settles the upgrade that had reached it', async () => {
    const good = await interrupt()
    reportOperation(good.device, 'install')
    reportOperation(good.device, 'success')
    expect(await harness.untilCommand(good.id, 'done')).toEqual({ text: null, lost: 'gateway_lost' })
    const bad = await interrupt()
    reportOperation(bad.device, 'fail')
    expect(await harness.untilCommand(bad.id, 'rejected')).toMatchObject({ code: 'install_failed' })
  })

  test('settles no upgrade whose download the gateway interrupted', async () => {
    const { device, id } = await interrupt({ delivered: false })
    reportOperation(device, 'fail')
    await untilHandled(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('settles no upgrade that was sent after it', async () => {
    const { device, id } = await interrupt()
    reportOperation(device, 'fail', -60)
    await untilHandled(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('settles no upgrade that was followed by a newer one', async () => {
    const { device, id } = await interrupt()
    const next = await harness.queue(device.mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 1, text: 'upgrade failed' })
    await harness.untilCommand(next, 'rejected')
    reportOperation(device, 'success')
    await untilHandled(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })
})

describe('call ids', () => {
  async function nextCallId(device: TestDevice): Promise<number> {
    const id = await harness.queue(device.mac, { kind: 'locate', params: {} })
    const call = await device.nextCall()
    device.reply(call.id, { error: 0 })
    await harness.untilCommand(id, 'done')
    return call.id
  }

  test('differ between sessions, devices and starts of the gateway', async () => {
    const first = await harness.start()
    const device = await claimAndConnect(first.port)
    const ids = [await nextCallId(device), await nextCallId(device)]
    ids.push(await nextCallId(await claimAndConnect(first.port)))
    await first.stop()
    const second = await harness.start()
    ids.push(await nextCallId(await connect(second.port, device.mac)))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('start again after the largest id that a device accepts, above the ids of calls without a command', async () => {
    const { port } = await harness.start()
    const device = await claimAndConnect(port)
    await sql`select setval('device_call_id', 2147483646)`.execute(harness.ctx.db)
    expect([await nextCallId(device), await nextCallId(device)]).toEqual([2 ** 31 - 1, 1024])
  })
})

test('no download address is stored or shown, whatever a device quotes', async () => {
  const { port } = await harness.start()
  const device = await claimAndConnect(port)
  const id = await harness.queue(device.mac, upgrade)
  const call = await device.nextCall()
  const command = `curl -L -w "%{http_code}" -o /tmp/ucentral.upgrade "${String(call.params['uri'])}"`
  device.reply(call.id, { error: 2, text: `Download failed, err 22, http_code 404, cmd ${command}` })
  expect(await harness.untilCommand(id, 'rejected')).toMatchObject({
    code: '2',
    text: 'Download failed, err 22, http_code 404, cmd curl -L -w "%{http_code}" -o /tmp/ucentral.upgrade "(address)"',
  })
})
