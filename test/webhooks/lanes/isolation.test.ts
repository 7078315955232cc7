import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { type Receiver, type Reply, startReceiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let good: Receiver
let bad: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver: good } = await startEngine(createTestClock()))
  bad = await startReceiver()
})
afterEach(() => bad.kill())

const single = { topics: ['audits'], single_event_per_message: true }

/** Delays every request until it is released with 200. */
function holdRequests(): { reply: Reply; held: () => number; release(): void } {
  const open = new Set<() => void>()
  return {
    reply: (_request, response) => {
      open.add(() => response.writeHead(200).end())
    },
    held: () => open.size,
    release() {
      for (const finish of open) finish()
      open.clear()
    },
  }
}

/** A clock that stands still while this process does: on a busy machine, requests age no faster than they are served. */
function processClock(): () => number {
  let ms = 0
  const timer = setInterval(() => void (ms += 5), 5)
  onTestFinished(() => clearInterval(timer))
  return () => ms
}

it('a hanging receiver delays no other receiver', async () => {
  const hanging = holdRequests()
  bad.answer(hanging.reply)
  await harness.addWebhook({ url: bad.url, ...single })
  await harness.addWebhook({ url: good.url, ...single })
  await harness.start()
  for (let index = 0; index < 20; index += 1) await harness.audit(`m${index}`)
  await good.waitFor(20)
  expect(hanging.held()).toBe(1)
  hanging.release()
})

it('forty receivers that begin to hang together delay no other receiver, and get every message in the end', async () => {
  const hanging = holdRequests()
  bad.answer(hanging.reply)
  const orgs = await Promise.all(Array.from({ length: 5 }, () => harness.addOrg()))
  for (const org of orgs)
    for (let index = 0; index < 8; index += 1) await harness.addWebhook({ url: bad.url, ...single }, null, org)
  await harness.addWebhook({ url: good.url, ...single })
  for (const org of orgs) await harness.audit('hangs', null, org)
  const pool = (total: number) => ({ total, perOrg: total })
  const caps = { ...defaultCaps, fresh: pool(8), late: pool(4), slow: pool(3), lateMs: 20, slowMs: 100 }
  await harness.start({ caps, monotonicMs: processClock(), timeoutMs: 600_000 })
  await bad.waitFor(8)
  for (let index = 0; index < 20; index += 1) await harness.audit(`m${index}`)
  await good.waitFor(20)
  // None of them waits for the end of a hanging request: all of these are still open, or were cut.
  expect((await harness.deliveries()).filter(({ status: result }) => result === 'failure')).toEqual([])
  // Requests that were cut off on their way to the slow slots are sent again when slots become free, with their full
  // time.
  await waitUntil('only slow requests are left', () => bad.received.length >= 40)
  bad.answer(status(200))
  hanging.release()
  await waitUntil('everything delivered', async () => (await harness.waiting()).pending === 0)
  expect((await harness.deliveries()).map((delivery) => delivery.status)).toEqual(Array(60).fill('success'))
  expect(new Set(bad.received.map(({ headers }) => headers['webhook-id'])).size).toBe(40)
})

it('an organization gets no more slots than its share', async () => {
  let open = 0
  let most = 0
  bad.answer((_request, response) => {
    open += 1
    most = Math.max(most, open)
    setTimeout(() => {
      open -= 1
      response.writeHead(200).end()
    }, 10)
  })
  for (let index = 0; index < 5; index += 1) await harness.addWebhook({ url: bad.url, ...single })
  for (let index = 0; index < 10; index += 1) await harness.audit(`m${index}`)
  // On a busy machine an answer may take so long that its request would leave its slot to another one.
  const caps = { ...defaultCaps, fresh: { total: 10, perOrg: 3 }, lateMs: 1e6, slowMs: 1e6 }
  await harness.start({ caps })
  await waitUntil('everything delivered', async () => {
    const { messages } = await harness.waiting()
    return bad.received.length >= 50 && messages === 0
  })
  expect(bad.received.length).toBe(50)
  expect(most).toBe(3)
})

it('a lane that another run had leased is taken over immediately, and late reports of that run do no harm', async () => {
  const hanging = holdRequests()
  bad.answer(hanging.reply)
  await harness.addWebhook({ url: bad.url, ...single })
  await harness.start()
  await harness.audit('slow')
  await bad.waitFor(1)
  await harness.start()
  await bad.waitFor(2)
  hanging.release()
  await waitUntil('both attempts kept', async () => (await harness.deliveries()).length === 2)
  await waitUntil('the lane is released', async () => (await harness.waiting()).pending === 0)
  expect((await harness.waiting()).messages).toBe(0)
  expect(bad.received[0]?.headers['webhook-id']).toBe(bad.received[1]?.headers['webhook-id'])
  bad.answer(status(200))
  await harness.audit('next')
  await bad.waitFor(3)
  await waitUntil('nothing left', async () => (await harness.waiting()).pending === 0)
})

it('a failure that a former run reports does not delay what the new run is sending', async () => {
  const held: ServerResponse[] = []
  bad.answer((_request, response) => void held.push(response))
  await harness.addWebhook({ url: bad.url, ...single })
  await harness.start()
  await harness.audit('slow')
  await bad.waitFor(1)
  await harness.start()
  await bad.waitFor(2)
  held[0]?.writeHead(500).end()
  await waitUntil('the first attempt has failed', async () => (await harness.deliveries()).length === 1)
  const [lane] = await harness.ctx.db.selectFrom('webhookLane').selectAll().execute()
  expect(lane).toMatchObject({ epoch: '3', failures: 0, pending: 1 })
  const [message] = await harness.ctx.db.selectFrom('webhookMessage').select('attempt').execute()
  expect(message).toEqual({ attempt: 0 })
  held[1]?.writeHead(200).end()
  await waitUntil('delivered', async () => (await harness.waiting()).messages === 0)
})

it('a new address applies to waiting messages', async () => {
  const webhook = await harness.addWebhook({ url: bad.url, ...single })
  bad.answer(status(500))
  await harness.start()
  await harness.audit('moving')
  await waitUntil('failure kept', async () => (await harness.deliveries()).length === 1)
  const { id } = webhook
  await updateWebhook(harness.ctx, harness.scope, { id, body: { url: good.url }, outbound: harness.outbound })
  clock.advance(6000)
  harness.wake()
  await waitUntil('arrived', () => good.received.some(({ events }) => events[0]?.['message'] === 'moving'))
})

it('stops in time even if a receiver hangs, and sends again after the start', async () => {
  const hanging = holdRequests()
  bad.answer(hanging.reply)
  await harness.addWebhook({ url: bad.url, ...single })
  const workers = await harness.start()
  await harness.audit('cut')
  await bad.waitFor(1)
  const startedMs = performance.now()
  await workers.stop()
  // This is less than the time-out of the request, which is 15 s.
  expect(performance.now() - startedMs).toBeLessThan(12_000)
  expect(await harness.waiting()).toEqual({ messages: 1, pending: 1 })
  bad.answer(status(200))
  await harness.start()
  await bad.waitFor(2)
  await waitUntil('nothing left', async () => (await harness.waiting()).messages === 0)
})
