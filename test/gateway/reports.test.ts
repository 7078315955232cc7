import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { createReports } from '../../src/gateway/reports.ts'
import { inTx } from '../../src/platform/db.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from './harness.ts'

let harness: GatewayHarness & { close(): Promise<void> }
beforeAll(async () => {
  harness = await createGatewayHarness()
})
afterAll(() => harness.close())

const reportOf = (mac: string, sanity: number) => ({
  deviceId: deviceIdOf(mac),
  epoch: '0',
  load: { sanity_percent: sanity },
  uptimeS: null,
  boot: null,
  firmware: null,
  telemetry: null,
})

test('a device with 32 unwritten reports must wait until they are written; others need not', async () => {
  const [busy, other] = [newMac(), newMac()]
  await harness.claim(busy)
  await harness.claim(other)
  const reports = createReports(harness.ctx, 10)
  let waiting: Promise<void> | undefined
  await inTx(harness.ctx, async (tx) => {
    await tx.selectFrom('deviceStatus').select('epoch').where('deviceId', '=', deviceIdOf(busy)).forUpdate().execute()
    for (let sanity = 1; sanity < 32; sanity += 1) expect(reports.add(reportOf(busy, sanity))).toBeUndefined()
    waiting = reports.add(reportOf(busy, 32))
    expect(waiting).toBeInstanceOf(Promise)
    expect(reports.add(reportOf(other, 1))).toBeUndefined()
    expect((await harness.status(busy)).load).toBeNull()
  })
  await waiting
  expect((await harness.status(busy)).load).toEqual({ sanity_percent: 32 })
  expect(reports.add(reportOf(busy, 33))).toBeUndefined()
  await reports.idle()
})
