import { beforeEach, expect, it } from 'vitest'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
})

const lane = () => harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
const isLeased = async () => (await lane()).leaseUntil !== null

it('tries a message again when it is due, although the lane is held for later events', async () => {
  await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  receiver.answer(status(500))
  await harness.start()
  await harness.audit('fails')
  await waitUntil('the lane is released', async () => (await harness.deliveries()).length === 1 && !(await isLeased()))
  receiver.answer(status(200))
  await harness.audit('leases the lane')
  await receiver.waitFor(2)
  expect(await isLeased()).toBe(true)
  const { epoch } = await lane()
  clock.advance(10_000)
  const arrivals = () => receiver.received.filter(({ events }) => events[0]?.['message'] === 'fails').length
  // An event at each look keeps the lane busy, which would otherwise be held all the time.
  await waitUntil(
    'the second attempt',
    async () => {
      await harness.audit('keeps the lane busy')
      return arrivals() === 2
    },
    10_000,
  )
  expect(Number((await lane()).epoch)).toBeGreaterThan(Number(epoch))
  await waitUntil('everything delivered', async () => (await harness.waiting()).messages === 0)
}, 60_000)
