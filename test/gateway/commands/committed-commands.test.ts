import { randomUUID } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { beforeAll, expect, test } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { insertUpgradeCommands } from '../../../src/devices/commands/store-upgrade-commands.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { inTxByKeys } from '../../../src/platform/database/db.ts'
import { whileRowsAreLocked } from '../../support/while-locked.ts'
import { connectDevice } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, insertImage } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const HOUR_MS = 3600e3
/** Only wakes can be in time. */
const onlyWakes = { tickMs: HOUR_MS }

const connected = (port: number): Promise<TestDevice> => connectDevice(harness, port)

interface How {
  /** Added to the epoch of the device's session. */
  readonly ahead?: number
  /** Hides the rows of the wake, as after a commit whose result is not known. */
  readonly isUncertain?: boolean
}

/** Commits an upgrade as the engine does. @returns The id of the command. */
async function commitUpgrade(mac: string, { ahead = 0, isUncertain = false }: How = {}): Promise<string> {
  const { ctx } = harness
  const command = await upgradeOf(mac, ahead)
  const wakes = {
    ...ctx.wakes,
    wake: (...[name, ids]: Parameters<typeof ctx.wakes.wake>) => ctx.wakes.wake(name, ids),
  }
  await commitCommands(isUncertain ? { ...ctx, wakes } : ctx, [command])
  return command.id
}

function commitCommands(ctx: GatewayHarness['ctx'], commands: readonly SentUpgrade[]): Promise<unknown> {
  return inTxByKeys(ctx, (tx) =>
    insertUpgradeCommands(tx, systemScope('rollout', harness.orgId), commands, {
      at: ctx.clock.now(),
      atMs: ctx.serviceClock.nowMs(),
    }),
  )
}

type SentUpgrade = Awaited<ReturnType<typeof upgradeOf>>

/** @param ahead Added to the epoch of the device's session. */
async function upgradeOf(mac: string, ahead = 0) {
  const { ctx, orgId } = harness
  const id = uuidv7()
  const at = ctx.clock.now()
  const imageId = randomUUID()
  await insertImage(ctx, orgId, imageId)
  const deviceId = deviceIdOf(mac)
  const { epoch } = await ctx.db
    .selectFrom('deviceSession')
    .select('epoch')
    .where('deviceId', '=', deviceId)
    .executeTakeFirstOrThrow()
  const { capabilities } = await ctx.db
    .selectFrom('deviceStatus')
    .select('capabilities')
    .where('deviceId', '=', deviceId)
    .executeTakeFirstOrThrow()
  const carrier = { epoch: String(Number(epoch) + ahead), mac, type: 'ap' as const, capabilities }
  return {
    ...{ id, deviceId, siteId: null, siteUpgradeId: randomUUID(), attempt: 1, createdAt: at, expiresAt: null, carrier },
    ...{ kind: 'upgrade' as const, params: { image_id: imageId, version: '2.0.0' } },
  }
}

test('a command that is committed as sent reaches the device without a claim', async () => {
  const { port } = await harness.start({ limits: onlyWakes })
  const device = await connected(port)
  const id = await commitUpgrade(device.mac)
  expect(await harness.command(id)).toMatchObject({ state: 'sent' })
  const call = await device.nextCall()
  expect(call.method).toBe('upgrade')
  device.reply(call.id, { error: 0, text: 'Success' })
  await harness.untilCommand(id, 'done')
})

test('a command of another connection returns to the queue, and is sent by a new call', async () => {
  const { port } = await harness.start()
  const device = await connected(port)
  const id = await commitUpgrade(device.mac, { ahead: 1 })
  const call = await device.nextCall()
  device.reply(call.id, { error: 0, text: 'Success' })
  await harness.untilCommand(id, 'done')
})

test('a locked command returns to the queue after it is free, and delays no other one', async () => {
  const { ctx } = harness
  const { port } = await harness.start()
  const [locked, other] = [await connected(port), await connected(port)]
  const announced: Parameters<typeof ctx.wakes.wake>[] = []
  const held = {
    ...ctx,
    wakes: { ...ctx.wakes, wake: (...wake: (typeof announced)[number]) => void announced.push(wake) },
  }
  const commands = [await upgradeOf(locked.mac, 1), await upgradeOf(other.mac, 1)] as const
  await commitCommands(held, commands)
  const rows = { table: 'device_command', column: 'id', value: commands[0].id }
  await whileRowsAreLocked(ctx, rows, async () => {
    for (const wake of announced) ctx.wakes.wake(...wake)
    other.reply((await other.nextCall()).id, { error: 0, text: 'Success' })
    await harness.untilCommand(commands[1].id, 'done')
    expect(await harness.command(commands[0].id)).toMatchObject({ state: 'sent' })
  })
  locked.reply((await locked.nextCall()).id, { error: 0, text: 'Success' })
  await harness.untilCommand(commands[0].id, 'done')
})

test('a command waits if a claim has sent another one at the same time', async () => {
  const { ctx } = harness
  const { port } = await harness.start()
  const device = await connected(port)
  const locate = await harness.queue(device.mac, { kind: 'locate', params: {} })
  const first = await device.nextCall()
  // Hides the command in flight from the transaction, as if both were committed at the same time.
  await ctx.db.updateTable('deviceCommand').set({ state: 'cancelled' }).where('id', '=', locate).execute()
  const id = await commitUpgrade(device.mac)
  await ctx.db.updateTable('deviceCommand').set({ state: 'sent' }).where('id', '=', locate).execute()
  await harness.untilCommand(id, 'queued')
  device.reply(first.id, { error: 0, text: 'Success' })
  await harness.untilCommand(locate, 'done')
  const second = await device.nextCall()
  expect(second.method).toBe('upgrade')
  device.reply(second.id, { error: 0, text: 'Success' })
  await harness.untilCommand(id, 'done')
})

test("a command that can't be encoded is rejected, and the others of its batch are sent", async () => {
  const { port } = await harness.start({ limits: onlyWakes })
  const devices = [await connected(port), await connected(port), await connected(port)] as const
  const [first, broken, last] = devices
  const commands = await Promise.all(devices.map(({ mac }) => upgradeOf(mac)))
  const noCapabilities = {} as SentUpgrade['carrier']['capabilities']
  await commitCommands(
    harness.ctx,
    commands.map((command) =>
      command.carrier.mac === broken.mac
        ? { ...command, carrier: { ...command.carrier, capabilities: noCapabilities } }
        : command,
    ),
  )
  for (const device of [first, last]) device.reply((await device.nextCall()).id, { error: 0, text: 'Success' })
  expect(await harness.untilCommand(commands[1]?.id ?? '', 'rejected')).toMatchObject({ code: 'not_sendable' })
  expect(broken.calls).toEqual([])
})

test('a command whose commit was uncertain is looked up, and sent once', async () => {
  const { port } = await harness.start()
  const device = await connected(port)
  const id = await commitUpgrade(device.mac, { isUncertain: true })
  const call = await device.nextCall()
  // Announced once more while it is in flight.
  harness.ctx.wakes.wake('sent_commands', [deviceIdOf(device.mac)])
  device.reply(call.id, { error: 0, text: 'Success' })
  await harness.untilCommand(id, 'done')
  harness.ctx.wakes.wake('sent_commands', [deviceIdOf(device.mac)])
  // Until then the device gets nothing, because it reboots.
  harness.advance(30_000)
  const locate = await harness.queue(device.mac, { kind: 'locate', params: {} })
  const next = await device.nextCall()
  expect(next.method).toBe('leds')
  device.reply(next.id, { error: 0, text: 'Success' })
  await harness.untilCommand(locate, 'done')
})
