import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { createWebhookCounters } from '../../../src/webhooks/metrics/counters.ts'
import { startRouteWorker } from '../../../src/webhooks/routing/route.worker.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { createLaneClock } from '../lane-clock.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { type Receiver, status } from '../receiver.ts'

const LANES = 30
const EVENTS = 64
const IN_FLIGHT = 64
const caps = { ...defaultCaps, fresh: { total: IN_FLIGHT, perOrg: IN_FLIGHT } }
const maxUnwritten = { count: 200, bytes: 1e9 }

let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ harness, receiver } = await startEngine(createTestClock()))
})

/** Waits until no further message arrives. */
async function untilQuiet(): Promise<void> {
  for (let before = -1; before < receiver.received.length; await delay(500)) before = receiver.received.length
}

/** Leaves every request unanswered until it is released; then answers all of them. */
function holdRequests(): { readonly held: () => number; release(): void } {
  const open: (() => void)[] = []
  receiver.answer((_request, response) => void open.push(() => response.writeHead(200).end()))
  return {
    held: () => open.length,
    release() {
      receiver.answer(status(200))
      for (const finish of open) finish()
    },
  }
}

it('sends no requests while too many results wait for the database, and then delivers everything once', async () => {
  const webhook = { url: receiver.url, topics: ['audits'], single_event_per_message: true }
  for (let lane = 0; lane < LANES; lane += 1) await harness.addWebhook(webhook)
  for (let event = 0; event < EVENTS; event += 1) await harness.audit(`m${event}`)
  const router = startRouteWorker(harness.ctx, createWebhookCounters())
  await waitUntil('all routed', async () => (await harness.waiting()).messages === LANES * EVENTS)
  await router.stop()
  const first = holdRequests()
  const laneClock = createLaneClock()
  await harness.start({ caps, maxUnwritten, ...laneClock.options })
  await waitUntil('every lane is at work', () => first.held() === LANES)
  await inTx(harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    first.release()
    await receiver.waitFor(maxUnwritten.count)
    await untilQuiet()
    // The requests in flight when the limit was reached are added to it.
    expect(receiver.received.length).toBeLessThanOrEqual(maxUnwritten.count + IN_FLIGHT)
  })
  await waitUntil('everything delivered', async () => {
    laneClock.advance(50)
    return (await harness.waiting()).pending === 0
  })
  expect(receiver.received.length).toBe(LANES * EVENTS)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(LANES * EVENTS)
})
