import { randomUUID } from 'node:crypto'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { recordConnects } from '../../../src/devices/sessions/record-connect.ts'
import {
  createLostDevicesSweep,
  recordNodeStarted,
  recordNodeStopped,
} from '../../../src/devices/sessions/record-node.ts'
import { deviceFacts } from '../../support/fleets/devices.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, claimDevice, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeEach(async () => {
  harness = await createGatewayHarness(onTestFinished)
})

const restart = { kind: 'restart' as const, params: {} }
const facts = deviceFacts()

/**
 * Inserts a session and a command in flight, as a killed process leaves them.
 * @param beforeSent Called before the command is committed as sent.
 */
async function insertAbandonedSession(
  nodeId: string,
  beforeSent: () => Promise<void> = () => Promise.resolve(),
): Promise<{ mac: string; commandId: string }> {
  const mac = newMac()
  await harness.claim(mac)
  await recordNodeStarted(harness.ctx, nodeId)
  const {
    opened: [session],
  } = await recordConnects(harness.ctx, nodeId, [{ mac, family: 'ucentral', facts }])
  const commandId = await harness.queue(mac, { ...restart, siteUpgradeId: randomUUID() })
  await beforeSent()
  await harness.ctx.db
    .updateTable('deviceCommand')
    .set({ state: 'sent', epoch: session?.epoch ?? null, sentAt: harness.ctx.clock.now() })
    .where('id', '=', commandId)
    .execute()
  return { mac, commandId }
}

test('a restarted process ends the commands that were in flight; a device that reconnects was never disconnected', async () => {
  const { mac, commandId } = await insertAbandonedSession(harness.nodeId)
  const { port } = await harness.start({ limits: { deadMs: 1_000_000 } })
  expect(await harness.command(commandId)).toMatchObject({ state: 'unknown', outcome: { why: 'gateway_lost' } })
  const device = await openDevice(port, harness.ca, { mac })
  device.hello()
  const next = await harness.queue(mac, restart)
  device.reply((await device.nextCall()).id, { error: 0 })
  await harness.untilCommand(next, 'done')
  harness.advance(61_000)
  // The sweep that would report the device as disconnected also expires this command.
  const expiring = await harness.queue(macOf(await harness.claim(newMac())), restart)
  harness.advance(600_000)
  await harness.untilCommand(expiring, 'expired')
  expect(await harness.events()).toEqual(['AP_CONNECTED', 'AP_RESTART_FAILED'])
})

test('a restarted process ends a command that was committed as sent after the former one had stopped', async () => {
  const stop = () => recordNodeStopped(harness.ctx, harness.nodeId)
  const { commandId } = await insertAbandonedSession(harness.nodeId, stop)
  await harness.start()
  expect(await harness.command(commandId)).toMatchObject({ state: 'unknown', outcome: { why: 'gateway_lost' } })
})

test('a device that does not reconnect after a restart is disconnected after the grace period', async () => {
  const { mac } = await insertAbandonedSession(harness.nodeId)
  await harness.start()
  expect((await harness.status(mac)).connected).toBe(true)
  harness.advance(75_000)
  await waitUntil('disconnected', async () => !(await harness.status(mac)).connected)
  expect(await harness.events()).toEqual(['AP_CONNECTED', 'AP_DISCONNECTED'])
})

test('devices get the more time to reconnect the longer they had no gateway, and stay connected until then', async () => {
  const macs = [
    (await insertAbandonedSession(harness.nodeId)).mac,
    (await insertAbandonedSession(harness.nodeId)).mac,
  ] as const
  harness.advance(100_000)
  await recordNodeStarted(harness.ctx, harness.nodeId)
  let nowMs = 0
  const sweep = createLostDevicesSweep(harness.ctx, () => nowMs)
  const connected = async () => Promise.all(macs.map(async (mac) => (await harness.status(mac)).connected))
  await sweep()
  // By then an access point has attempted to connect twice; the first attempt may have met a busy gateway.
  nowMs = 135_000
  await sweep()
  expect(await connected()).toEqual([true, true])
  await recordConnects(harness.ctx, harness.nodeId, [{ mac: macs[0], family: 'ucentral', facts }])
  nowMs = 140_000
  await sweep()
  // One device has just reconnected, so the other one may still do so.
  nowMs = 239_000
  await sweep()
  expect(await connected()).toEqual([true, true])
  nowMs = 250_000
  await sweep()
  expect(await connected()).toEqual([true, false])
  expect(await harness.events()).toEqual(['AP_CONNECTED', 'AP_CONNECTED', 'AP_DISCONNECTED'])
})

test('the sessions of a dead node end when its lease has expired', async () => {
  const { commandId } = await insertAbandonedSession(randomUUID())
  await harness.start()
  expect((await harness.command(commandId)).state).toBe('sent')
  harness.advance(31_000)
  await harness.untilCommand(commandId, 'unknown')
})

test('a node that was considered dead drops its sessions, and its devices reconnect', async () => {
  const gateway = await harness.start()
  const device = await openDevice(gateway.port, harness.ca)
  device.hello()
  await waitUntil('a session', () => sessionOf(device.mac))
  await harness.ctx.db.deleteFrom('gatewayNode').execute()
  expect(await device.closed).toBe(1013)
  expect(gateway.counters.read().lost_lease).toBe(1)
})

test('a session that has moved to another node is closed on the old one', async () => {
  const { port } = await harness.start()
  const device = await openDevice(port, harness.ca)
  device.hello()
  await waitUntil('a session', () => sessionOf(device.mac))
  await recordConnects(harness.ctx, randomUUID(), [{ mac: device.mac, family: 'ucentral', facts }])
  expect(await device.closed).toBe(4409)
  expect((await sessionOf(device.mac))?.connected).toBe(true)
})

test('a stop closes sessions with 1012 and reports no device as disconnected', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(gateway.port, harness.ca, { mac })
  device.hello()
  await waitUntil('connected', async () => (await harness.status(mac)).connected)
  await gateway.stop()
  expect(await device.closed).toBe(1012)
  expect(await harness.events()).toEqual(['AP_CONNECTED'])
  expect((await sessionOf(mac))?.connected).toBe(false)
})

test('an unknown device is kept as unclaimed, and a claim takes over its session', async () => {
  const { port } = await harness.start()
  const device = await openDevice(port, harness.ca)
  device.hello({ reason: 'boot' })
  device.send('state', { state: { unit: { uptime: 9 } } })
  const session = await waitUntil('a session', () => sessionOf(device.mac))
  expect(session.connected).toBe(true)
  const registered = await harness.ctx.db.selectFrom('deviceRegistry').selectAll().executeTakeFirstOrThrow()
  expect(registered).toMatchObject({ mac: device.mac, orgId: null, model: 'test_model', type: 'ap', firmware: '1.0.0' })
  expect(registered.claimCode).toMatch(/^[A-HJ-NP-Z2-9]{15}$/)
  expect(await harness.ctx.db.selectFrom('deviceStatus').selectAll().execute()).toEqual([])

  await claimDevice(harness.ctx, harness.orgId, { mac: device.mac, type: 'ap' })
  expect(await harness.status(device.mac)).toMatchObject({ connected: true, firmware: '1.0.0' })
  const id = await harness.queue(device.mac, restart)
  device.reply((await device.nextCall()).id, { error: 0 })
  await harness.untilCommand(id, 'done')
  device.send('state', { state: { unit: { uptime: 10 } } })
  await waitUntil('its state', async () => (await harness.status(device.mac)).load !== null)
})

test('a device in recovery that requests a reboot is rebooted once, however often it asks', async () => {
  const { port } = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(port, harness.ca, { mac })
  device.hello()
  for (let again = 0; again < 5; again += 1) device.send('recovery', { firmware: '1.0.0', reboot: true })
  device.send('healthcheck', { sanity: 1 })
  expect((await device.nextCall()).method).toBe('reboot')
  // This message arrives after all of them.
  await waitUntil('the report', async () => (await harness.status(mac)).load !== null)
  const commands = harness.ctx.db.selectFrom('deviceCommand').select('state').where('deviceId', '=', deviceIdOf(mac))
  expect(await commands.execute()).toEqual([{ state: 'sent' }])
})

async function sessionOf(mac: string): Promise<{ connected: boolean; epoch: string } | null> {
  const row = await harness.ctx.db
    .selectFrom('deviceSession')
    .select(['connected', 'epoch'])
    .where('deviceId', '=', deviceIdOf(mac))
    .executeTakeFirst()
  return row ?? null
}

function macOf(deviceId: string): string {
  return deviceId.slice(-12)
}
