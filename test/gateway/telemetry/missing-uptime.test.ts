import { beforeAll, expect, test, vi } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, type TestDevice, createGatewayHarness, openDevice } from '../harness.ts'

const MINUTE_MS = 60_000

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** Waits until the gateway has handled everything that the device has sent, and has swept its sessions since. */
async function settle(device: TestDevice): Promise<void> {
  const sanity = Math.random() * 100
  device.send('healthcheck', { sanity })
  await waitUntil('everything is handled', async () => {
    const { load } = await harness.status(device.mac)
    return JSON.stringify(load).includes(String(sanity))
  })
}

test('the log names a device that reports no uptime, once per session', async () => {
  const warn = vi.spyOn(harness.ctx.log, 'warn')
  const { port } = await harness.start({ limits: { deadMs: 1e9, helloMs: 1e9, pingMs: 1e9 } })
  const warningsOf = (mac: string): string[] =>
    warn.mock.calls.map((call) => JSON.stringify(call)).filter((line) => line.includes(mac) && line.includes('uptime'))

  async function connect(mac?: string): Promise<TestDevice> {
    const device = await openDevice(port, harness.ca, mac === undefined ? {} : { mac })
    if (mac === undefined) await harness.claim(device.mac)
    device.hello()
    await device.untilTelemetryCall()
    return device
  }

  const stateless = await connect()
  const [stateful, late] = [await connect(), await connect()]
  const state = { unit: { uptime: 60 } }
  const telemetryOf = ({ mac }: TestDevice) => ({ data: { state: [[1, { uuid: 1, serial: mac, state }]] } })
  for (let minute = 1; minute <= 4; minute += 1) {
    harness.advance(MINUTE_MS)
    stateless.send('telemetry', { data: {} })
    stateful.send('telemetry', telemetryOf(stateful))
    for (const device of [stateless, stateful]) await settle(device)
  }
  expect(warningsOf(stateless.mac)).toEqual([])

  harness.advance(MINUTE_MS)
  await waitUntil('both are named', () => [stateless, late].every(({ mac }) => warningsOf(mac).length === 1))
  expect(warningsOf(stateless.mac)[0]).toContain('has it a configuration?')
  const told = harness.ctx.db.selectFrom('systemEvent').select('details').where('type', '=', 'DEVICE_UPTIME_MISSING')
  await waitUntil('both are reported', async () => (await told.execute()).length === 2)

  for (let minute = 1; minute <= 6; minute += 1) {
    harness.advance(MINUTE_MS)
    stateless.send('telemetry', { data: {} })
    late.send('telemetry', telemetryOf(late))
    for (const device of [stateless, late]) await settle(device)
  }
  expect(warningsOf(stateless.mac)).toHaveLength(1)
  expect(warningsOf(late.mac)).toHaveLength(1)
  expect(warningsOf(stateful.mac)).toEqual([])

  // A new session gets a new warning.
  stateless.socket.close(1000)
  await stateless.closed
  const again = await connect(stateless.mac)
  harness.advance(5 * MINUTE_MS)
  await waitUntil('it is named again', () => warningsOf(again.mac).length === 2)
})
