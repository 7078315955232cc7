import { beforeAll, expect, it } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

it('devices that replace each other with one certificate raise an alarm', async () => {
  const { port } = await harness.start({ limits: { deadMs: 1e9, helloMs: 1e9, pingMs: 1e9 } })
  const first = await openDevice(port, harness.ca)
  await harness.claim(first.mac)
  first.hello()
  await first.untilTelemetryCall()
  for (let times = 0, last = first; times < 10; times += 1) {
    harness.advance(5000)
    const next = await openDevice(port, harness.ca, { mac: first.mac })
    next.hello()
    await last.closed
    last = next
  }
  const alarms = harness.ctx.db.selectFrom('alarm').select(['type', 'details', 'text'])
  const raised = await waitUntil('the alarm', async () => {
    const rows = await alarms.execute()
    return rows.length > 0 && rows
  })
  expect(raised).toEqual([
    {
      type: 'device_certificate_cloned',
      details: { aps: [first.mac] },
      text: `Device ${first.mac} is replaced again and again by another one with its certificate`,
    },
  ])
})
