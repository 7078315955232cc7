import { beforeEach, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { MAX_ATTEMPTS } from '../../../src/webhooks/delivery/decide-retry.ts'
import { expireMessages } from '../../../src/webhooks/expiry/expire-messages.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { countBrokenLanes } from './broken-lanes.ts'
import { startEngine } from '../engine.ts'
import { type Harness, releaseAtOnce } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
let webhookId: string
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce))
  const webhook = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
  webhookId = webhook.id
})

const lane = () => harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
const released = () => waitUntil('the lane is released', async () => (await lane()).leaseUntil === null)
const routed = (messages: number) =>
  waitUntil('routed', async () => (await harness.waiting()).pending === messages && (await lane()).leaseUntil === null)
const delivered = () => waitUntil('everything delivered', async () => (await harness.waiting()).pending === 0)
const topics = (at: Receiver): string[] => at.received.map(({ topic }) => topic)

/** Makes a message fail, and then opens the breaker as many further failures would. */
async function openBreaker(): Promise<void> {
  receiver.answer(status(500))
  await harness.audit('first')
  await receiver.waitFor(1)
  await waitUntil('the failure is recorded', async () => (await harness.deliveries()).length === 1)
  await released()
  const openUntil = addMs(clock.now(), 60_000)
  await harness.ctx.db.updateTable('webhookLane').set({ failures: 9, openUntil, nextAt: openUntil }).execute()
  receiver.answer(status(200))
  // The message is due again, but for the breaker.
  clock.advance(10_000)
  harness.wake()
}

it('sends nothing for as long as the receiver asks, and counts no failure for it', async () => {
  receiver.answer(status(429, { 'retry-after': '90' }))
  await harness.start()
  await harness.audit('first')
  await waitUntil('the pause', async () => (await lane()).openUntil !== null)
  expect(await lane()).toMatchObject({ failures: 0, openUntil: addMs(clock.now(), 90_000) })
  receiver.answer(status(200))
  await harness.audit('second')
  await routed(2)
  clock.advance(89_999)
  harness.wake()
  await routed(2)
  expect(receiver.received.length).toBe(1)
  clock.advance(1)
  harness.wake()
  await delivered()
  expect(receiver.received.length).toBe(3)
})

it('sends a message after each pause that the receiver asks for, however many, and then by the schedule', async () => {
  const pauses = MAX_ATTEMPTS + 2
  receiver.answer(status(429, { 'retry-after': '20' }))
  await harness.start()
  await harness.audit('first')
  const tried = async (attempts: number) => {
    await waitUntil(`attempt ${attempts}`, async () => (await harness.deliveries()).length === attempts)
    await released()
  }
  await tried(1)
  for (let attempt = 2; attempt <= pauses; attempt += 1) {
    clock.advance(20_000)
    harness.wake()
    await tried(attempt)
  }
  receiver.answer(status(429))
  clock.advance(20_000)
  harness.wake()
  await tried(pauses + 1)
  receiver.answer(status(200))
  clock.advance(5000)
  harness.wake()
  await delivered()
  const recorded = await harness.recorded(webhookId)
  expect(recorded.map(({ attempt }) => attempt)).toEqual(Array.from({ length: pauses + 2 }, (_, index) => index + 1))
  const waits = recorded.flatMap(({ timestamp, next_attempt: next }) =>
    next === undefined ? [] : [Math.round(next - timestamp)],
  )
  expect(waits).toEqual([...Array.from({ length: pauses }, () => 20), 5])
  expect(recorded.map(({ final }) => final)).toEqual([...Array.from({ length: pauses + 1 }, () => false), true])
})

it('parks a message after a week of pauses that the receiver asks for', async () => {
  receiver.answer(status(503, { 'retry-after': '86400' }))
  const workers = await harness.start()
  await harness.audit('first')
  await waitUntil('the pause', async () => (await lane()).openUntil !== null)
  await released()
  await workers.stop()
  clock.advance(7 * 24 * 3600e3 + 1)
  expect(await expireMessages(harness.ctx)).toBe(1)
  const parked = await harness.ctx.db.selectFrom('webhookParkedMessage').select(['reason', 'attempt']).execute()
  expect(parked).toEqual([{ reason: 'expired', attempt: 1 }])
})

it('sends what waits at once after a ping succeeded, however long the receiver had failed', async () => {
  await harness.start()
  await openBreaker()
  await pingWebhook(harness.ctx, harness.scope, webhookId)
  await delivered()
  expect(topics(receiver)).toEqual(['audits', 'ping', 'audits'])
  await released()
  expect(await lane()).toMatchObject({ failures: 0, openUntil: null })
})

it.each([
  ['a ping succeeded', () => pingWebhook(harness.ctx, harness.scope, webhookId)],
  [
    'the webhook was enabled again',
    async () => {
      for (const enabled of [false, true])
        await updateWebhook(harness.ctx, harness.scope, {
          id: webhookId,
          body: { enabled },
          outbound: harness.outbound,
        })
    },
  ],
])('sends messages that would be tried again much later at once after %s', async (_what, repair) => {
  await harness.start()
  await openBreaker()
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set({ dueAt: addMs(clock.now(), 12 * 3600e3), attempt: 10 })
    .execute()
  await repair()
  await delivered()
  expect(topics(receiver).filter((topic) => topic === 'audits').length).toBeGreaterThan(1)
  await released()
  expect(await lane()).toMatchObject({ failures: 0, openUntil: null, pending: 0 })
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('leaves messages that were never tried to their times', async () => {
  await harness.start()
  await openBreaker()
  const dueAt = addMs(clock.now(), 3600e3)
  await harness.ctx.db.updateTable('webhookMessage').set({ dueAt, attempt: 0 }).execute()
  await pingWebhook(harness.ctx, harness.scope, webhookId)
  await receiver.waitFor(2)
  await waitUntil('the breaker is closed', async () => (await lane()).failures === 0)
  await released()
  expect(topics(receiver)).toEqual(['audits', 'ping'])
  expect(await lane()).toMatchObject({ pending: 1, nextAt: dueAt })
})

it('sends what waits to another address at once, and not for another name', async () => {
  await harness.start()
  await openBreaker()
  const change = (body: Record<string, unknown>) =>
    updateWebhook(harness.ctx, harness.scope, { id: webhookId, body, outbound: harness.outbound })
  await change({ name: 'Named' })
  await routed(2)
  expect(await lane()).toMatchObject({ failures: 9 })
  const other = await startReceiver()
  await change({ url: other.url })
  await delivered()
  expect([topics(receiver), new Set(topics(other))]).toEqual([['audits'], new Set(['audits'])])
  await other.kill()
})

it.each([{ secret: 'new' }, { headers: { Authorization: 'new' } }, { verify_cert: false }])(
  'sends what waits at once after a change of %o',
  async (body) => {
    await harness.start()
    await openBreaker()
    receiver.answer(status(200))
    await updateWebhook(harness.ctx, harness.scope, { id: webhookId, body, outbound: harness.outbound })
    await delivered()
  },
)

it('sends to another address although a request to the old one still hangs', async () => {
  // The message is sent to the other address once its request has timed out.
  await harness.start({ timeoutMs: 3000 })
  await openBreaker()
  receiver.answer(() => {})
  clock.advance(60_000)
  harness.wake()
  await receiver.waitFor(2)
  const other = await startReceiver()
  const body = { url: other.url }
  await updateWebhook(harness.ctx, harness.scope, { id: webhookId, body, outbound: harness.outbound })
  await other.waitFor(1)
  await delivered()
  expect(await lane()).toMatchObject({ failures: 0, openUntil: null })
  await other.kill()
})

it('the pause after a failure begins at its end, because an attempt may take longer than the pause', async () => {
  receiver.answer((_request, response) => {
    clock.advance(15_000)
    response.writeHead(500).end()
  })
  await harness.start()
  await harness.audit('slow')
  await waitUntil('the failure', async () => (await harness.deliveries()).length > 0)
  const record = await harness.ctx.db
    .selectFrom('webhookDelivery')
    .select(['createdAt', 'nextAttempt'])
    .where('attempt', '=', 1)
    .executeTakeFirstOrThrow()
  const afterMs = (record.nextAttempt?.getTime() ?? 0) - record.createdAt.getTime()
  expect(afterMs).toBeGreaterThanOrEqual(15_000 + 4000)
  expect(afterMs).toBeLessThanOrEqual(15_000 + 6000)
})
