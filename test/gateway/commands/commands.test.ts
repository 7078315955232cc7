import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { markCommandsLost } from '../../../src/devices/commands/store-ended.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type NewDevice, aSwitch, connectDevice } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const restart = { kind: 'restart' as const, params: {} }
const locate = { kind: 'locate' as const, params: {} }

const connected = (port: number, device?: NewDevice): Promise<TestDevice> => connectDevice(harness, port, device)

/** Blocks writes of command outcomes until the returned function is called. */
async function blockOutcomes({ ctx }: GatewayHarness): Promise<() => Promise<void>> {
  await sql`create or replace function wait_for_test() returns trigger language plpgsql as $$
    begin
      if current_query() like '%known.outcome%' then perform pg_advisory_xact_lock(77); end if;
      return null;
    end $$`.execute(ctx.db)
  await sql`create or replace trigger wait_for_test before update on device_command
    for each statement execute function wait_for_test()`.execute(ctx.db)
  const { commit: lift } = await openTx(ctx, (tx) => sql`select pg_advisory_xact_lock(77)`.execute(tx))
  onTestFinished(lift)
  return lift
}

/** The events of requested restarts; the ends of commands and their events commit together. */
async function restartEvents(mac: string): Promise<{ type: string; text: unknown }[]> {
  const query = harness.ctx.db
    .selectFrom('deviceEvent')
    .select(['type', 'event'])
    .where('deviceId', '=', deviceIdOf(mac))
  const rows = await query.orderBy('id').execute()
  const wanted = rows.filter(({ type }) => /_PART_RESTARTED$|_RESTART_FAILED$/.test(type))
  return wanted.map(({ type, event }) => ({ type, text: event.text }))
}

describe('a restart', () => {
  test('is done when the device confirms it', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    expect(call).toMatchObject({ method: 'reboot', params: { serial: device.mac, when: 0 } })
    expect(await harness.command(id)).toMatchObject({ state: 'sent' })
    device.reply(call.id, { error: 0, text: 'rebooting' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'rebooting' })
  })

  test('is done even if the device closes the connection right after its answer', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    device.send('healthcheck', { uuid: 1, sanity: 100, data: {} })
    device.reply(call.id, { error: 0, text: 'rebooting' })
    device.socket.close()
    await waitUntil('the end of the session', async () => !(await harness.status(device.mac)).connected)
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'rebooting' })
  })

  test('is not lost if the session ends right after the answer, however slow the database is', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    const lift = await blockOutcomes(harness)
    device.reply(call.id, { error: 0, text: 'rebooting' })
    device.socket.close()
    await untilWaiting(harness, 1)
    // Meanwhile the end of the session could be written.
    await connected(port)
    expect((await harness.command(id)).state).toBe('sent')
    await lift()
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'rebooting' })
    await waitUntil('the end of the session', async () => !(await harness.status(device.mac)).connected)
    expect((await harness.command(id)).state).toBe('done')
  })

  test('is rejected with the text of the device', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    device.reply((await device.nextCall()).id, { error: 1, text: 'busy' })
    expect(await harness.untilCommand(id, 'rejected')).toEqual({ code: '1', text: 'busy', final: false })
  })

  test('is unknown when the device does not answer within 30 s, and a late reply changes nothing', async () => {
    const gateway = await harness.start()
    const device = await connected(gateway.port)
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    harness.advance(30_000)
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'timeout' })
    device.reply(call.id, { error: 0 })
    await waitUntil('the late reply', () => gateway.counters.read().unknown_reply === 1)
    expect((await harness.command(id)).state).toBe('unknown')
  })

  test('is unknown when the connection breaks, and never sent again', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    await device.nextCall()
    device.socket.terminate()
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
    const again = await openDevice(port, harness.ca, { mac: device.mac })
    again.hello()
    const next = await harness.queue(device.mac, restart)
    again.reply((await again.nextCall()).id, { error: 0 })
    await harness.untilCommand(next, 'done')
    expect(again.calls).toEqual([])
  })

  test('of a member is sent to a device that supports it, and refused for one that does not', async () => {
    const { port } = await harness.start()
    const extension = { protocol: 1, methods: ['reboot'] }
    const capable = await connected(port, {
      type: 'switch',
      params: { capabilities: { compatible: 'stack', 'x-signalbox': extension } },
    })
    const id = await harness.queue(capable.mac, { kind: 'restart', params: { member: 2 } })
    const call = await capable.nextCall()
    expect(call).toMatchObject({ method: 'x-signalbox.reboot', params: { serial: capable.mac, member: 2 } })
    capable.reply(call.id, { error: 0 })
    await harness.untilCommand(id, 'done')
    const stock = await connected(port)
    const refused = await harness.queue(stock.mac, { kind: 'restart', params: { member: 2 } })
    expect(await harness.untilCommand(refused, 'rejected')).toMatchObject({ code: 'unsupported' })
    expect(await restartEvents(capable.mac)).toEqual([{ type: 'SW_PART_RESTARTED', text: 'member 2' }])
    expect(await restartEvents(stock.mac)).toEqual([
      { type: 'AP_RESTART_FAILED', text: "member 2: The device can't restart member 2 alone" },
    ])
  })

  test('that waits for another one is sent when that has ended, not at the next look', async () => {
    const { port } = await harness.start({ limits: { tickMs: 3_600_000 } })
    const device = await connected(port)
    const ids = [await harness.queue(device.mac, locate), await harness.queue(device.mac, restart)]
    const first = await device.nextCall()
    expect(device.calls).toEqual([])
    device.reply(first.id, { error: 0 })
    device.reply((await device.nextCall()).id, { error: 0 })
    for (const id of ids) await harness.untilCommand(id, 'done')
  })

  test('delays further commands of the device until it is back, because it would lose them', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const other = await connected(port)
    const id = await harness.queue(device.mac, restart)
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(id, 'done')
    const next = await harness.queue(device.mac, locate)
    const ofOther = await harness.queue(other.mac, locate)
    other.reply((await other.nextCall()).id, { error: 0 })
    await harness.untilCommand(ofOther, 'done')
    expect(await harness.command(next)).toMatchObject({ state: 'queued' })
    const back = await openDevice(port, harness.ca, { mac: device.mac })
    back.hello()
    back.reply((await back.nextCall()).id, { error: 0 })
    await harness.untilCommand(next, 'done')
    expect(device.calls).toEqual([])
  })

  test('that did not happen delays further commands for 30 s', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(id, 'done')
    const next = await harness.queue(device.mac, locate)
    harness.advance(30_000)
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(next, 'done')
  })

  test('that is lost while it is being sent does not end before it was sent', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, restart)
    await device.nextCall()
    const [deviceId, { clock, db }] = [deviceIdOf(device.mac), harness.ctx]
    const session = db.selectFrom('deviceSession').select(['deviceId', 'epoch']).where('deviceId', '=', deviceId)
    const at = new Date(clock.now().getTime() - 5)
    const lost = await session.execute()
    await inTx(harness.ctx, (tx) => markCommandsLost(tx, lost, { at, why: 'connection_lost' }))
    const row = db.selectFrom('deviceCommand').select(['sentAt', 'finishedAt']).where('id', '=', id)
    const { sentAt, finishedAt } = await row.executeTakeFirstOrThrow()
    expect(sentAt).not.toBeNull()
    expect(finishedAt).toEqual(sentAt)
  })

  test('queued for a disconnected device is sent when it connects, or expires', async () => {
    const { port } = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const id = await harness.queue(mac, restart)
    const device = await openDevice(port, harness.ca, { mac })
    device.hello()
    device.reply((await device.nextCall()).id, { error: 0 })
    await harness.untilCommand(id, 'done')
    device.socket.terminate()
    await waitUntil('disconnected', async () => !(await harness.status(mac)).connected)
    const late = await harness.queue(mac, restart)
    harness.advance(600_000)
    await harness.untilCommand(late, 'expired')
    expect(await restartEvents(mac)).toEqual([{ type: 'AP_RESTART_FAILED', text: 'It could not be sent in time' }])
  })
})

describe('locating a device', () => {
  test('makes an access point blink, and stop', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    for (const [kind, pattern] of [
      ['locate', 'blink'],
      ['unlocate', 'on'],
    ] as const) {
      const id = await harness.queue(device.mac, { kind, params: {} })
      const call = await device.nextCall()
      expect(call).toMatchObject({ method: 'leds', params: { serial: device.mac, pattern } })
      device.reply(call.id, { error: 0, text: 'success' })
      await harness.untilCommand(id, 'done')
    }
  })

  test('lasts as long as the command says, or else ten minutes', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    for (const [params, duration] of [
      [{ duration_s: 7200 }, 7200],
      [{}, 600],
    ] as const) {
      const id = await harness.queue(device.mac, { kind: 'locate', params })
      const call = await device.nextCall()
      expect(call.params).toMatchObject({ duration })
      device.reply(call.id, { error: 0, text: 'success' })
      await harness.untilCommand(id, 'done')
    }
  })

  test('is refused for a switch, whose client would ignore it', async () => {
    const { port } = await harness.start()
    const device = await connected(port, aSwitch)
    const id = await harness.queue(device.mac, { kind: 'locate', params: {} })
    expect(await harness.untilCommand(id, 'rejected')).toMatchObject({ code: 'unsupported' })
  })
})

test("a command that can't be encoded is rejected, and the others of its batch are sent", async () => {
  const { ctx } = harness
  const { port } = await harness.start({ limits: { tickMs: 3_600_000 } })
  const devices = [await connected(port), await connected(port), await connected(port)] as const
  const [first, broken, last] = devices
  await ctx.db
    .updateTable('deviceStatus')
    .set({ capabilities: JSON.stringify({}) })
    .where('deviceId', '=', deviceIdOf(broken.mac))
    .execute()
  const ids = await harness.queueAll(
    devices.map(({ mac }) => mac),
    restart,
  )
  for (const device of [first, last]) device.reply((await device.nextCall()).id, { error: 0 })
  expect(await harness.untilCommand(ids[1] ?? '', 'rejected')).toMatchObject({ code: 'not_sendable', final: true })
  expect(broken.calls).toEqual([])
})

test('hundreds of commands are sent in few transactions', async () => {
  const { port } = await harness.start()
  const devices = await Promise.all(Array.from({ length: 40 }, () => connected(port)))
  const ids = await Promise.all(devices.map((device) => harness.queue(device.mac, restart)))
  await Promise.all(devices.map(async (device) => device.reply((await device.nextCall()).id, { error: 0 })))
  for (const id of ids) await harness.untilCommand(id, 'done')
})
