import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type NewDevice, aSwitch, connectDevice } from '../connect-device.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const ping = { kind: 'ping' as const, params: { host: '192.0.2.1', count: 2, size: 56 } }
const support = { kind: 'support' as const, params: {} }

const connected = (port: number, device?: NewDevice): Promise<TestDevice> => connectDevice(harness, port, device)

describe('a ping', () => {
  test('stores its output with the command', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, ping)
    const call = await device.nextCall()
    expect(call).toMatchObject({ method: 'script', params: { serial: device.mac, type: 'shell', timeout: 32 } })
    device.reply(call.id, { error: 1, result: '0 packets received\n' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: '0 packets received\n' })
  })

  test('is unknown when the device does not answer in time', async () => {
    const { port } = await harness.start({ limits: { deadMs: 3600e3 } })
    const device = await connected(port, aSwitch)
    const id = await harness.queue(device.mac, ping)
    await device.nextCall()
    harness.advance(62_000)
    expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'timeout' })
  })

  test('is refused before it is sent to an access point that runs signed scripts only', async () => {
    const { port } = await harness.start()
    const device = await connected(port, {
      params: { capabilities: { compatible: 'test_model', platform: 'ap', restrictions: { commands: true } } },
    })
    const id = await harness.queue(device.mac, ping)
    expect(await harness.untilCommand(id, 'rejected')).toMatchObject({ code: 'unsupported', final: true })
    expect(device.calls).toEqual([])
  })

  test('reaches no shell with a host that the interface has not checked', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, { kind: 'ping', params: { ...ping.params, host: '$(reboot)' } })
    expect(await harness.untilCommand(id, 'rejected')).toMatchObject({ code: 'unsafe_host', final: true })
    expect(device.calls).toEqual([])
  })
})

describe('support files', () => {
  test('are requested at an address for this command, and done at the second answer', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, support)
    const call = await device.nextCall()
    expect(call).toMatchObject({ method: 'script', params: { type: 'diagnostic', timeout: 600 } })
    expect(call.params['uri']).toMatch(new RegExp(`/support-files/${harness.orgId}/${id}/`))
    device.reply(call.id, { error: 0, result: 'pending' })
    device.reply(call.id, { error: 0, result: 'done' })
    expect(await harness.untilCommand(id, 'done')).toEqual({ text: 'done' })
  })

  test('are rejected if the device collects nothing', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const id = await harness.queue(device.mac, support)
    const call = await device.nextCall()
    device.reply(call.id, { error: 0, result: 'pending' })
    device.reply(call.id, { error: 1, result: 'script did not generate any output' })
    expect(await harness.untilCommand(id, 'rejected')).toMatchObject({ text: 'script did not generate any output' })
  })
})

describe('a diagnostic command that takes minutes', () => {
  const restart = { kind: 'restart' as const, params: {} }
  const upgrade = { kind: 'upgrade' as const, params: { image_id: randomUUID(), version: '2.0' } }

  test.each([
    ['a restart', restart, 'reboot'],
    ['an upgrade', upgrade, 'upgrade'],
  ])('does not delay %s, and both are answered', async (_, order, method) => {
    const { port } = await harness.start()
    const device = await connected(port)
    const diagnostic = await harness.queue(device.mac, support)
    const script = await device.nextCall()
    device.reply(script.id, { error: 0, result: 'pending' })
    const id = await harness.queue(device.mac, order)
    const call = await device.nextCall()
    expect(call.method).toBe(method)
    device.reply(call.id, { error: 0 })
    await harness.untilCommand(id, 'done')
    expect((await harness.command(diagnostic)).state).toBe('sent')
    device.reply(script.id, { error: 0, result: 'done' })
    await harness.untilCommand(diagnostic, 'done')
  })

  test('waits for other commands, and for another diagnostic one', async () => {
    const { port } = await harness.start()
    const device = await connected(port)
    const first = await harness.queue(device.mac, { kind: 'locate', params: {} })
    const leds = await device.nextCall()
    const second = await harness.queue(device.mac, ping)
    const third = await harness.queue(device.mac, support)
    const other = await connected(port)
    const elsewhere = await harness.queue(other.mac, ping)
    other.reply((await other.nextCall()).id, { error: 0, result: '' })
    await harness.untilCommand(elsewhere, 'done')
    expect((await harness.command(second)).state).toBe('queued')
    device.reply(leds.id, { error: 0 })
    await harness.untilCommand(first, 'done')
    const script = await device.nextCall()
    expect(script.params['type']).toBe('shell')
    expect((await harness.command(third)).state).toBe('queued')
    device.reply(script.id, { error: 0, result: '' })
    await harness.untilCommand(second, 'done')
    expect((await device.nextCall()).params['type']).toBe('diagnostic')
  })

  test('gives a command that is sent meanwhile more time, as a device may begin it only afterwards', async () => {
    const { port } = await harness.start({ limits: { deadMs: 3600e3 } })
    const device = await connected(port, aSwitch)
    const diagnostic = await harness.queue(device.mac, { ...ping, params: { ...ping.params, count: 100 } })
    const script = await device.nextCall()
    const id = await harness.queue(device.mac, restart)
    const call = await device.nextCall()
    harness.advance(129_000)
    device.reply(script.id, { error: 0, result: '' })
    await harness.untilCommand(diagnostic, 'done')
    expect((await harness.command(id)).state).toBe('sent')
    device.reply(call.id, { error: 0 })
    await harness.untilCommand(id, 'done')
  })
})
