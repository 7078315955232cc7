import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordConnects } from '../../src/devices/sessions/record-connect.ts'
import { deviceSessions } from '../../src/gateway/device-sessions.ts'
import { stockCapabilities } from '../support/devices.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from './harness.ts'

let harness: GatewayHarness & { close(): Promise<void> }
beforeAll(async () => {
  harness = await createGatewayHarness()
})
afterAll(() => harness.close())

const facts = {
  firmware: '1.0.0',
  model: 'test_model',
  type: 'ap' as const,
  capabilities: stockCapabilities(),
  members: null,
  reason: null,
  ext_ip: null,
}

/** Creates devices in ascending order of MAC, each of which has connected once more than the previous one. */
async function devicesWithDistinctEpochs(count: number): Promise<string[]> {
  const macs = Array.from({ length: count }, newMac).toSorted()
  for (let before = 0; before < count; before += 1)
    for (const mac of macs.slice(before + 1))
      await recordConnects(harness.ctx, randomUUID(), [{ mac, family: 'ucentral', facts }])
  return macs
}

test('devices that connect together, in descending order of MAC, each get their own epoch', async () => {
  const macs = await devicesWithDistinctEpochs(6)
  const sessions = deviceSessions(harness.ctx, randomUUID(), 200)
  const opened = await Promise.all(
    macs.toReversed().map((mac) => sessions.open({ mac, family: 'ucentral', orgId: null }, facts)),
  )
  expect(opened).toEqual(macs.map((_, before) => String(before + 1)).toReversed())
})
