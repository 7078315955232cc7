import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { listFwUpdates, setFwUpdate } from '../../support/fleets/device-upgrades.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type NewDevice, aSwitch, connectDevice } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const restart = { kind: 'restart' as const, params: {} }
const upgrade = { kind: 'upgrade' as const, params: { image_id: randomUUID(), version: '2.0.0' } }

const connected = (port: number, device?: NewDevice): Promise<TestDevice> => connectDevice(harness, port, device)

function session(mac: string): Promise<{ epoch: string; connected: boolean } | undefined> {
  return harness.ctx.db
    .selectFrom('deviceSession')
    .select(['epoch', 'connected'])
    .where('deviceId', '=', deviceIdOf(mac))
    .executeTakeFirst()
}

describe('an upgrade', () => {
  test('of an access point is done when the device has the image', async () => {
    // The device sends nothing while it downloads, by the clock, and must not be considered dead.
    const { port } = await harness.start({ limits: { deadMs: 3600e3 } })
    const device = await connected(port)
    const id = await harness.queue(device.mac, { ...upgrade, siteUpgradeId: randomUUID() })
    const call = await device.nextCall()
    expect(call).toMatchObject({ method: 'upgrade', params: { serial: device.mac, when: 0 } })
    expect(call.params['uri']).toMatch(
      new RegExp(`^http://127.0.0.1/firmware/${harness.orgId}/${id}/${upgrade.params.image_id}/`),
    )
    harness.advance(600_000)
    device.reply(call.id, { error: 0, text: 'Triggering FW upgrade' })
    await harness.untilCommand(id, 'done')
  })

  test('of a switch is done when its event reports success, and shows its progress until then', async () => {
    const { port } = await harness.start()
    const device = await connected(port, aSwitch)
    const running = { progress: 5, status: 'inprogress', status_id: 1, timestamp: 1, will_retry: false } as const
    await setFwUpdate(harness.ctx.db, deviceIdOf(device.mac), running)
    const progress = async (): Promise<unknown> =>
      (await listFwUpdates(harness.ctx.db, deviceIdOf(device.mac)))[0]?.progress
    const id = await harness.queue(device.mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 0, text: 'upgrade requested successfully' })
    const event = (payload: unknown): void =>
      device.send('event', { data: { event: [1, { type: 'firmware_upgrade_status', payload }] } })
    event({ operation: 'download', percentage: 40 })
    await waitUntil('progress', async () => (await progress()) === 31)
    expect((await harness.command(id)).state).toBe('sent')
    event({ operation: 'success' })
    await harness.untilCommand(id, 'done')
    await waitUntil('the image is installed', async () => (await progress()) === 90)
  })

  test('of a switch is rejected when its event reports a failure', async () => {
    const { port } = await harness.start()
    const device = await connected(port, aSwitch)
    const id = await harness.queue(device.mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 0 })
    device.send('event', { data: { event: [1, { type: 'firmware_upgrade_status', payload: { operation: 'fail' } }] } })
    await harness.untilCommand(id, 'rejected')
  })

  test('of a switch is rejected with a download error if the device had not finished its download', async () => {
    const { port } = await harness.start()
    const device = await connected(port, aSwitch)
    const id = await harness.queue(device.mac, upgrade)
    device.reply((await device.nextCall()).id, { error: 0 })
    for (const operation of ['download', 'fail'])
      device.send('event', { data: { event: [1, { type: 'firmware_upgrade_status', payload: { operation } }] } })
    const text = 'the device could not download it'
    expect(await harness.untilCommand(id, 'rejected')).toEqual({ code: 'download_failed', text, final: false })
  })

  test('delays further commands of the device, but not of other devices', async () => {
    const { port } = await harness.start()
    const busy = await connected(port)
    const idle = await connected(port)
    const first = await harness.queue(busy.mac, upgrade)
    const call = await busy.nextCall()
    const second = await harness.queue(busy.mac, restart)
    const other = await harness.queue(idle.mac, restart)
    idle.reply((await idle.nextCall()).id, { error: 0 })
    await harness.untilCommand(other, 'done')
    expect((await harness.command(second)).state).toBe('queued')
    busy.reply(call.id, { error: 2, text: 'Download failed' })
    await harness.untilCommand(first, 'rejected')
    busy.reply((await busy.nextCall()).id, { error: 0 })
    await harness.untilCommand(second, 'done')
  })
})

describe('evidence of a boot', () => {
  test('counts for a new version and a decreased uptime, and not for a reconnect', async () => {
    const { port } = await harness.start()
    const mac = newMac()
    await harness.claim(mac)
    const boots = async (): Promise<number> => (await harness.status(mac)).bootCount
    const reconnect = async (params: Record<string, unknown>): Promise<TestDevice> => {
      const device = await openDevice(port, harness.ca, { mac })
      const before = (await session(mac))?.epoch
      device.hello(params)
      await waitUntil('a new session', async () => (await session(mac))?.epoch !== before)
      await device.untilTelemetryCall()
      return device
    }
    await reconnect({ reason: 'socket' })
    expect(await boots()).toBe(0)
    const device = await reconnect({ reason: 'socket', firmware: '2.0.0' })
    expect(await boots()).toBe(1)
    device.send('state', { state: { unit: { uptime: 100 } } })
    device.send('state', { state: { unit: { uptime: 90 } } })
    await waitUntil('a second boot', async () => (await boots()) === 2)
    device.send('state', { state: { unit: { uptime: 95 } } })
    await waitUntil('the report', async () => JSON.stringify((await harness.status(mac)).load).includes('95'))
    expect(await boots()).toBe(2)
  })
})
