import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { recordIdleDevices, sweepCommands } from '../../../src/devices/commands/record-commands.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { appendDueOutages } from '../../../src/devices/sessions/record-disconnect.ts'
import { createLostDevicesSweep } from '../../../src/devices/sessions/record-node.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { whileRowsAreLocked } from '../../support/while-locked.ts'
import { connectDevice } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

type Table = 'device' | 'device_status' | 'device_command'

function whileLocked(mac: string, table: Table, work: () => Promise<void>): Promise<void> {
  const column = table === 'device' ? 'id' : 'device_id'
  return whileRowsAreLocked(harness.ctx, { table, column, value: deviceIdOf(mac) }, work)
}

async function connected(port: number): Promise<TestDevice> {
  const device = await connectDevice(harness, port)
  await device.untilTelemetryCall()
  return device
}

function report(device: TestDevice, uptime: number): void {
  device.send('state', { uuid: 1, state: { unit: { uptime } } })
}

async function uptimeOf({ mac }: TestDevice): Promise<unknown> {
  const { load } = await harness.status(mac)
  return (load as { uptime_s?: number } | null)?.uptime_s
}

test.each<Table>(['device_status', 'device'])(
  'a report is recorded while another organization changes a device that reports at the same time: %s',
  async (table) => {
    const { port } = await harness.start()
    const [locked, other] = [await connected(port), await connected(port)]
    await whileLocked(locked.mac, table, async () => {
      for (const uptime of [100, 160]) report(locked, uptime)
      for (const uptime of [500, 560]) {
        report(other, uptime)
        await waitUntil('the report', async () => (await uptimeOf(other)) === uptime)
      }
      expect(await uptimeOf(locked)).toBeUndefined()
    })
    await waitUntil('the delayed report', async () => (await uptimeOf(locked)) === 160)
    // In their order: an uptime that goes back would be a boot.
    const { bootCount } = await harness.ctx.db
      .selectFrom('deviceStatus')
      .select('bootCount')
      .where('deviceId', '=', deviceIdOf(locked.mac))
      .executeTakeFirstOrThrow()
    expect(bootCount).toBe(0)
  },
)

test('an outcome is recorded while another organization changes a device whose command ends at the same time', async () => {
  const { port } = await harness.start()
  const [locked, other] = [await connected(port), await connected(port)]
  const ids = await harness.queueAll([locked.mac, other.mac], { kind: 'locate', params: {} })
  const calls = [await locked.nextCall(), await other.nextCall()] as const
  await whileLocked(locked.mac, 'device_command', async () => {
    locked.reply(calls[0].id, { error: 0, text: 'blinking' })
    other.reply(calls[1].id, { error: 0, text: 'blinking' })
    await harness.untilCommand(ids[1] ?? '', 'done')
    // Its next command, too.
    const next = await harness.queue(other.mac, { kind: 'unlocate', params: {} })
    other.reply((await other.nextCall()).id, { error: 0 })
    await harness.untilCommand(next, 'done')
    expect((await harness.command(ids[0] ?? '')).state).toBe('sent')
  })
  expect(await harness.untilCommand(ids[0] ?? '', 'done')).toEqual({ text: 'blinking' })
})

test('a session whose last outcome waits for another organization ends after it, and delays no other end', async () => {
  const { port } = await harness.start()
  const [locked, other] = [await connected(port), await connected(port)]
  const id = await harness.queue(locked.mac, { kind: 'locate', params: {} })
  const call = await locked.nextCall()
  await whileLocked(locked.mac, 'device_command', async () => {
    locked.reply(call.id, { error: 0, text: 'blinking' })
    locked.socket.close()
    await locked.closed
    other.socket.close()
    await harness.untilConnected(other.mac, false)
    expect(await harness.status(locked.mac)).toMatchObject({ connected: true })
  })
  await harness.untilConnected(locked.mac, false)
  // It was not lost with the session.
  expect(await harness.command(id)).toMatchObject({ state: 'done', outcome: { text: 'blinking' } })
})

/** The devices whose outage is reported. */
async function reportedDown(macs: readonly string[]): Promise<string[]> {
  const events = harness.ctx.db.selectFrom('deviceEvent').select('deviceId').where('type', 'like', '%_DISCONNECTED')
  const ids = new Set((await events.execute()).map(({ deviceId }) => deviceId))
  return macs.filter((mac) => ids.has(deviceIdOf(mac)))
}

test('outages are reported while another organization changes one of the devices', async () => {
  const { port } = await harness.start({ limits: { sweepMs: 3600e3 } })
  const devices = [await connected(port), await connected(port)] as const
  const macs = devices.map(({ mac }) => mac)
  const at = harness.ctx.clock.now()
  for (const mac of macs) {
    await harness.ctx.db
      .updateTable('deviceStatus')
      .set({ connected: false })
      .where('deviceId', '=', deviceIdOf(mac))
      .execute()
    const outage = { orgId: harness.orgId, deviceId: deviceIdOf(mac), downAt: at, dueAt: at }
    await harness.ctx.db.insertInto('deviceOutage').values(outage).execute()
  }
  await whileLocked(devices[0].mac, 'device_status', async () => {
    await appendDueOutages(harness.ctx)
    expect(await reportedDown(macs)).toEqual([devices[1].mac])
  })
  await appendDueOutages(harness.ctx)
  expect(await reportedDown(macs)).toEqual(macs)
})

test('lost devices are marked while another organization changes one of them', async () => {
  const { port } = await harness.start({ limits: { sweepMs: 3600e3 } })
  const devices = [await connected(port), await connected(port)] as const
  const macs = devices.map(({ mac }) => mac)
  const ids = macs.map(deviceIdOf)
  await harness.ctx.db
    .updateTable('deviceSession')
    .set({ connected: false, lostAt: harness.ctx.clock.now() })
    .where('deviceId', 'in', ids)
    .execute()
  let nowMs = 0
  const sweep = createLostDevicesSweep(harness.ctx, () => nowMs)
  await sweep()
  nowMs += 3600e3
  await whileLocked(devices[0].mac, 'device_status', async () => {
    await sweep()
    expect(await harness.status(macs[1] ?? '')).toMatchObject({ connected: false })
    expect(await harness.status(macs[0] ?? '')).toMatchObject({ connected: true })
  })
  await sweep()
  expect(await harness.status(macs[0] ?? '')).toMatchObject({ connected: false })
})

test('commands end by their time while another organization changes one of the devices', async () => {
  const { port } = await harness.start({ limits: { sweepMs: 3600e3 } })
  const devices = [await connected(port), await connected(port)] as const
  const macs = devices.map(({ mac }) => mac)
  const ids = await harness.queueAll(macs, { kind: 'locate', params: {} })
  for (const device of devices) await device.nextCall()
  await harness.ctx.db.updateTable('deviceCommand').set({ sentMs: -1e9 }).where('id', 'in', ids).execute()
  await whileLocked(devices[0].mac, 'device_command', async () => {
    await sweepCommands(harness.ctx)
    expect((await harness.command(ids[1] ?? '')).state).toBe('unknown')
    expect((await harness.command(ids[0] ?? '')).state).toBe('sent')
  })
  await sweepCommands(harness.ctx)
  expect((await harness.command(ids[0] ?? '')).state).toBe('unknown')
})

test('a device that executes nothing is recorded while another organization changes one', async () => {
  const { port } = await harness.start()
  const devices = [await connected(port), await connected(port)] as const
  const macs = devices.map(({ mac }) => mac)
  const params = { image_id: randomUUID(), version: '2.0.0' }
  const ids = await harness.queueAll(macs, { kind: 'upgrade', params, siteUpgradeId: randomUUID() })
  for (const device of devices) {
    await device.nextCall()
    device.socket.close()
    await harness.untilConnected(device.mac, false)
    ;(await openDevice(port, harness.ca, { mac: device.mac })).hello()
    await harness.untilConnected(device.mac)
  }
  const deviceIds = macs.map(deviceIdOf)
  await harness.ctx.db.updateTable('deviceStatus').set({ bootId: 'b' }).where('deviceId', 'in', deviceIds).execute()
  const sessions = await harness.ctx.db
    .selectFrom('deviceSession')
    .select(['deviceId', 'epoch'])
    .where('deviceId', 'in', deviceIds)
    .execute()
  const idle = sessions.map(({ deviceId, epoch }) => ({ deviceId, epoch, executing: [] }))
  await whileLocked(devices[0].mac, 'device_command', async () => {
    expect(await recordIdleDevices(harness.ctx, idle, false)).toEqual(new Set([deviceIds[0]]))
    expect((await harness.command(ids[1] ?? '')).outcome).toEqual({ why: 'connection_lost', idle: true })
  })
  expect(await recordIdleDevices(harness.ctx, idle, true)).toEqual(new Set())
  expect((await harness.command(ids[0] ?? '')).outcome).toEqual({ why: 'connection_lost', idle: true })
})
