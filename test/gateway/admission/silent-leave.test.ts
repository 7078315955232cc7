import { beforeAll, expect, test, vi } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

test('a device that leaves before it sends anything is counted, and logged once', async () => {
  const warn = vi.spyOn(harness.ctx.log, 'warn')
  const gateway = await harness.start({ limits: { helloMs: 1000 } })
  const mac = newMac()
  const untilLeft = (count: number) => waitUntil('it left', () => gateway.counters.read().left_silently === count)
  for (const count of [1, 2]) {
    const device = await openDevice(gateway.port, harness.ca, { mac })
    device.socket.close(1000)
    await untilLeft(count)
  }
  const warnings = warn.mock.calls.filter((call) => JSON.stringify(call).includes(mac))
  expect(warnings).toHaveLength(1)
  expect(JSON.stringify(warnings)).toContain('left before it said connect; does its gateway.json name 127.0.0.1?')

  // Neither of these left by itself without a message.
  const closedByGateway = await openDevice(gateway.port, harness.ca)
  harness.advance(1000)
  expect(await closedByGateway.closed).toBe(1008)
  const hasConnected = await openDevice(gateway.port, harness.ca)
  hasConnected.hello()
  await hasConnected.untilTelemetryCall()
  hasConnected.socket.close(1000)
  await hasConnected.closed
  await gateway.stop()
  expect(gateway.counters.read().left_silently).toBe(2)
})
