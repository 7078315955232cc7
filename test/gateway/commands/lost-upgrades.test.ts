import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { CommandOrder } from '../../../src/devices/commands/command.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { openRouterPeer } from '../../drivers/router-peer.ts'
import { routerHello } from '../../edge/routers.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  type GatewayHarness,
  type ReceivedCall,
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

const params = { image_id: randomUUID(), version: '2.0.0' }
const upgrade: CommandOrder = { kind: 'upgrade', params }
const lost = { why: 'connection_lost' }
const platforms = {
  ap: { compatible: 'test_model', platform: 'ap' },
  switch: { compatible: 'test_switch', platform: 'switch' },
}
type Platform = keyof typeof platforms

async function connect(
  port: number,
  { mac, platform, more = {} }: { mac: string; platform: Platform; more?: object },
): Promise<TestDevice> {
  const session = harness.ctx.db.selectFrom('deviceSession').select('epoch').where('deviceId', '=', deviceIdOf(mac))
  const before = (await session.executeTakeFirst())?.epoch
  const device = await openDevice(port, harness.ca, { mac })
  device.hello({ capabilities: { ...platforms[platform], ...more } })
  await waitUntil('a new session', async () => (await session.executeTakeFirst())?.epoch !== before)
  return device
}

/** Reports an uptime, which shows that the device has not booted. */
async function reportUptime(device: TestDevice, uptime = 100_000): Promise<void> {
  await device.untilTelemetryCall()
  device.send('state', { uuid: 1, state: { unit: { uptime } } })
  await waitUntil('the report', async () => {
    const { load } = await harness.status(device.mac)
    return (load as { uptime_s?: number } | null)?.uptime_s === uptime
  })
}

/** A device that has lost its connection over the upgrade, and is back. */
async function comeBack(gateway: RunningGateway, platform: Platform, more: object = {}) {
  const mac = newMac()
  await harness.claim(mac, platform)
  const before = await connect(gateway.port, { mac, platform, more })
  await reportUptime(before, 99_000)
  const id = await harness.queue(mac, { ...upgrade, siteUpgradeId: randomUUID() })
  const call = await before.nextCall()
  before.socket.terminate()
  expect(await harness.untilCommand(id, 'unknown')).toEqual(lost)
  harness.advance(1000)
  const device = await connect(gateway.port, { mac, platform, more })
  return { device, id, callId: call.id }
}

const outcomeOf = async (id: string) => (await harness.command(id)).outcome
const untilIdle = (id: string, meanwhile: () => void = () => {}) =>
  waitUntil('the lost command to be idle', async () => {
    meanwhile()
    const outcome = await outcomeOf(id)
    return JSON.stringify(outcome).includes('idle') ? outcome : null
  })
const idle = { ...lost, idle: true }

/** A switch that is silent for this long upgrades nothing. */
const SILENT_MS = 180_000

/** A gateway that keeps connections open although the clock advances by minutes between two messages. */
const startPatient = () => harness.start({ limits: { deadMs: 3_600_000 } })

/** A silent switch, which is looked at after the devices that came back before it. */
async function addSilent(gateway: RunningGateway): Promise<string> {
  const { device, id } = await comeBack(gateway, 'switch')
  await reportUptime(device)
  return id
}

/** A busy gateway may read the lost upgrades of a switch only after a step of the clock, and its silence counts from then. */
const untilSilent = (id: string) => untilIdle(id, () => harness.advance(1000))

/** Expects that nothing is known of the command once a silent switch is known to upgrade nothing. */
async function expectUnproven(gateway: RunningGateway, id: string): Promise<void> {
  const silent = await addSilent(gateway)
  harness.advance(SILENT_MS)
  await untilSilent(silent)
  expect(await outcomeOf(id)).toEqual(lost)
}

describe('a switch that is back', () => {
  const status = (operation: string) => ({
    data: { event: [1_795_000_000, { type: 'firmware_upgrade_status', payload: { operation } }] },
  })

  test('upgrades nothing if it reports nothing about an upgrade for three minutes', async () => {
    const gateway = await startPatient()
    const { device, id } = await comeBack(gateway, 'switch')
    await reportUptime(device)
    device.send('event', status('install'))
    await reportUptime(device, 100_001)
    harness.advance(SILENT_MS - 1000)
    // The gateway looks for its messages again and again meanwhile.
    for (let uptime = 100_002; uptime < 100_022; uptime += 1) await reportUptime(device, uptime)
    expect(await outcomeOf(id)).toEqual(lost)
    device.send('event', status('download'))
    await reportUptime(device, 100_180)
    const silent = await addSilent(gateway)
    harness.advance(SILENT_MS - 2000)
    device.send('event', status('install'))
    await reportUptime(device, 100_360)
    harness.advance(2000)
    await untilSilent(silent)
    expect(await outcomeOf(id)).toEqual(lost)
    harness.advance(SILENT_MS - 2000)
    expect(await untilIdle(id)).toEqual(idle)
  })

  test('proves nothing by its silence when its client has just started', async () => {
    const gateway = await startPatient()
    const { device, id } = await comeBack(gateway, 'switch')
    device.send('event', { data: { event: [1_700_000_000, { type: 'device.reboot', payload: {} }] } })
    await reportUptime(device)
    await expectUnproven(gateway, id)
  })

  test('is believed only once its uptime shows whether it has booted', async () => {
    const gateway = await startPatient()
    const { device, id } = await comeBack(gateway, 'switch')
    await device.untilTelemetryCall()
    await expectUnproven(gateway, id)
    await reportUptime(device, 100_180)
    expect(await untilIdle(id, () => harness.advance(60_000))).toEqual(idle)
  })
})

describe('an access point that is back', () => {
  const fileOf = (id: number): string => `/tmp/ucentral.cmd.${String(id).padStart(10, '0')}`
  const scriptOf = (call: ReceivedCall): string => Buffer.from(String(call.params['script']), 'base64').toString()

  test('is asked for the file of the lost call, until there is none', async () => {
    const { device, id, callId } = await comeBack(await harness.start(), 'ap')
    await reportUptime(device)
    const first = await device.nextCall()
    expect(first).toMatchObject({ method: 'script', params: { serial: device.mac, type: 'shell' } })
    expect(first.id).toBeLessThan(1024)
    expect(scriptOf(first)).toBe(`#!/bin/sh\nls ${fileOf(first.id)} ${fileOf(callId)} 2>/dev/null\n`)
    device.reply(first.id, { error: 0, result: `${fileOf(first.id)}\n${fileOf(callId)}\n` })
    await waitUntil('the next question', () => {
      harness.advance(1000)
      return device.calls.length > 0
    })
    expect(await outcomeOf(id)).toEqual(lost)
    const second = await device.nextCall()
    device.reply(second.id, { error: 1, result: `${fileOf(second.id)}\n` })
    expect(await untilIdle(id)).toEqual(idle)
  })

  // A client that reports regularly keeps its interval of a minute when it is asked to begin.
  test('is asked for its state once if it has not reported its uptime', async () => {
    const { device, id } = await comeBack(await harness.start(), 'ap')
    const { id: questionId } = await device.nextCall()
    expect(device.stateCalls).toMatchObject([
      { method: 'request', params: { serial: device.mac, message: 'state', request_uuid: expect.any(String) } },
    ])
    await reportUptime(device)
    device.reply(questionId, { error: 1, result: `${fileOf(questionId)}\n` })
    expect(await untilIdle(id)).toEqual(idle)
    expect(device.stateCalls).toHaveLength(1)
  })

  test('is not believed where the file of the question itself is missing', async () => {
    const gateway = await startPatient()
    const { device, id } = await comeBack(gateway, 'ap')
    await reportUptime(device)
    const { id: questionId } = await device.nextCall()
    device.reply(questionId, { error: 1, result: '' })
    await expectUnproven(gateway, id)
    expect(device.calls).toEqual([])
  })

  test('is not asked if its maker forbids scripts, nor without a lost upgrade', async () => {
    const gateway = await startPatient()
    const { device, id } = await comeBack(gateway, 'ap', { restrictions: { commands: true } })
    await reportUptime(device)
    const mac = newMac()
    await harness.claim(mac, 'ap')
    const other = await connect(gateway.port, { mac, platform: 'ap' })
    await reportUptime(other)
    await expectUnproven(gateway, id)
    expect([...device.calls, ...other.calls]).toEqual([])
  })
})

test.each([
  ['does not know it', false],
  ['is executing it', true],
])("a lost activation is over unless the router's agent %s", async (_, isKnown) => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac, 'gateway')
  const target = { port: gateway.portOf('edge'), mac, harness }
  const before = await openRouterPeer(target)
  before.hello()
  await harness.untilConnected(mac)
  const id = await harness.queue(mac, { kind: 'activate', params, siteUpgradeId: randomUUID() })
  await before.nextCall()
  before.drop()
  expect(await harness.untilCommand(id, 'unknown')).toEqual(lost)
  const peer = await openRouterPeer({ ...target, greeting: { ...routerHello(mac), commands: isKnown ? [id] : [] } })
  peer.hello()
  await harness.untilConnected(mac)
  if (!isKnown) return expect(await untilIdle(id)).toEqual(idle)
  await gateway.stop()
  expect(await outcomeOf(id)).toEqual(lost)
})
