import { afterAll, beforeAll, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness, releaseAtOnce } from '../harness.ts'
import { type Receiver, startReceiver } from '../receiver.ts'

let clock: TestClock
let harness: Harness
const receivers: Receiver[] = []
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock, releaseAtOnce)
  await harness.start()
})
afterAll(async () => {
  await harness.close()
  for (const receiver of receivers) await receiver.kill()
})

it('uses the rest of a moment once, however often the lane is leased', async () => {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const rate = { messages: 1000, per: 'second' }
  const body = { topics: ['audits'], url: receiver.url, single_event_per_message: true, rate_limit: rate }
  const { id } = await harness.addWebhook(body)
  const lane = harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id)
  const at = clock.now()
  for (const count of [1, 2]) {
    await harness.audit(`number ${count}`)
    const isReleased = async () => {
      const { leaseUntil, pending, openUntil } = await lane.executeTakeFirstOrThrow()
      return leaseUntil === null && pending === 0 && receiver.received.length === count ? openUntil : null
    }
    expect(await waitUntil('the lane is released', isReleased)).toEqual(addMs(at, count - 100))
  }
})

it('delays messages to the rate of the webhook, loses none, and delays no other webhook', async () => {
  const [limited, free] = [await startReceiver(), await startReceiver()]
  receivers.push(limited, free)
  const body = { topics: ['device-events'], single_event_per_message: true }
  const { id } = await harness.addWebhook({ ...body, url: limited.url, rate_limit: { messages: 2, per: 'second' } })
  await harness.addWebhook({ ...body, url: free.url })
  const names = Array.from({ length: 8 }, (_, n) => `d${n}`)
  await harness.deviceEvents(names)
  clock.advance(1000)
  harness.wake()
  await free.waitFor(8)
  const lane = () =>
    harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id).executeTakeFirstOrThrow()
  // A tenth of a second counts as unused before the first message.
  let nextMs = clock.now().getTime() + 400
  for (let count = 1; count <= 4; count += 1) {
    await limited.waitFor(count)
    const { openUntil, pending } = await waitUntil('the lane is released', async () => {
      const released = await lane()
      return released.leaseUntil === null && released.pending === 8 - count ? released : null
    })
    expect([openUntil, pending]).toEqual([new Date(nextMs), 8 - count])
    expect(limited.received).toHaveLength(count)
    clock.advance(nextMs - clock.now().getTime())
    nextMs += 500
    if (count < 4) harness.wake()
  }
  await updateWebhook(harness.ctx, harness.scope, { id, body: { rate_limit: null }, outbound: harness.outbound })
  await limited.waitFor(8)
  await waitUntil('nothing waits', async () => (await lane()).pending === 0)
  expect(limited.received.map(({ events }) => events[0]?.['device_name'])).toEqual(names)
})
