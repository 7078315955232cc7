import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, newMac, openDevice } from './harness.ts'

let harness: GatewayHarness & { close(): Promise<void> }
beforeAll(async () => {
  harness = await createGatewayHarness()
})
afterAll(() => harness.close())

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

/** A command that the device was sent, and whose connection broke before it answered. */
async function loseAnswer(device: TestDevice, order: typeof restart | typeof upgrade = upgrade) {
  const id = await harness.queue(device.mac, order)
  const call = await device.nextCall()
  device.socket.terminate()
  expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
  return { id, callId: call.id }
}

describe('an answer that comes on a newer session', () => {
  test('settles the command that it belongs to, and not the one that is in flight', async () => {
    const { port } = await harness.start()
    const device = await claimAndConnect(port)
    const lost = await loseAnswer(device)
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

  test('settles it although the gateway was started anew meanwhile', async () => {
    const first = await harness.start()
    const device = await claimAndConnect(first.port)
    const id = await harness.queue(device.mac, upgrade)
    const call = await device.nextCall()
    await first.stop()
    const second = await harness.start()
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'gateway_lost' })
    const again = await connect(second.port, device.mac)
    again.reply(call.id, { error: 0, text: 'Triggering FW upgrade' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'Triggering FW upgrade' })
  })

  test('settles nothing for another device, for ids that no command has, or twice', async () => {
    const gateway = await harness.start()
    const device = await claimAndConnect(gateway.port)
    const lost = await loseAnswer(device)
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

  test('does not undo a wait that ended: the device took too long', async () => {
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

  test('settles it although the older session is open still', async () => {
    const gateway = await harness.start()
    const device = await claimAndConnect(gateway.port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    const newer = await openDevice(gateway.port, harness.ca, { mac: device.mac })
    newer.hello()
    expect(await device.closed).toBe(4409)
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
    newer.reply(call.id, { error: 0, text: 'rebooting' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'rebooting' })
  })
})

describe('the end of an upgrade that a switch tells on a newer session', () => {
  const asSwitch = { capabilities: { compatible: 'test_switch', platform: 'switch' } }

  /** A switch that has accepted an upgrade and installs it, and whose gateway has been started anew. */
  async function interrupt({ delivered = true } = {}): Promise<{ device: TestDevice; id: string }> {
    const first = await harness.start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    const device = await connect(first.port, mac, asSwitch)
    const id = await harness.queue(mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 0, text: 'upgrade requested successfully' })
    if (delivered) await deliver(id)
    await first.stop()
    const second = await harness.start()
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'gateway_lost' })
    return { device: await connect(second.port, mac, asSwitch), id }
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

  function tell(device: TestDevice, operation: string, laterS = 60): void {
    const atS = Math.floor(harness.ctx.clock.now().getTime() / 1000) + laterS
    device.say('event', { data: { event: [atS, { type: 'firmware_upgrade_status', payload: { operation } }] } })
  }

  /** Everything that the device has said so far is handled. */
  async function untilHeard(device: TestDevice): Promise<void> {
    const id = await harness.queue(device.mac, restart)
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(id, 'done')
  }

  test('settles the one that had reached it', async () => {
    const good = await interrupt()
    tell(good.device, 'install')
    tell(good.device, 'success')
    expect(await harness.untilCommand(good.id, 'done')).toEqual({ text: null })
    const bad = await interrupt()
    tell(bad.device, 'fail')
    expect(await harness.untilCommand(bad.id, 'rejected')).toMatchObject({ code: 'install_failed' })
  })

  test('settles none whose download we broke off', async () => {
    const { device, id } = await interrupt({ delivered: false })
    tell(device, 'fail')
    await untilHeard(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('settles none that was sent after it', async () => {
    const { device, id } = await interrupt()
    tell(device, 'fail', -60)
    await untilHeard(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('settles none that a newer one has followed', async () => {
    const { device, id } = await interrupt()
    const next = await harness.queue(device.mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 1, text: 'upgrade failed' })
    await harness.untilCommand(next, 'rejected')
    tell(device, 'success')
    await untilHeard(device)
    expect((await harness.command(id)).state).toBe('unknown')
  })
})

describe('call ids', () => {
  async function nextCallId(device: TestDevice): Promise<number> {
    const id = await harness.queue(device.mac, restart)
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

  test('begin anew after the largest that a device takes, above those of calls without a command', async () => {
    const { port } = await harness.start()
    const device = await claimAndConnect(port)
    await sql`select setval('device_call_id', 2147483646)`.execute(harness.ctx.db)
    expect([await nextCallId(device), await nextCallId(device)]).toEqual([2 ** 31 - 1, 1024])
  })
})

test('no address of a download is kept or told, whatever a device quotes', async () => {
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
