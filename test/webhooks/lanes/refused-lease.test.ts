import type { ServerResponse } from 'node:http'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { createDeadlines } from '../../../src/platform/time/deadlines.ts'
import { createAccessTokens } from '../../../src/webhooks/requests/access-tokens.ts'
import { defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { createWebhookCounters } from '../../../src/webhooks/metrics/counters.ts'
import { type DeliverWorker, startDeliverWorker } from '../../../src/webhooks/delivery/deliver.worker.ts'
import { defaultMaxUnwritten } from '../../../src/webhooks/delivery/flush.ts'
import { MIN_IDLE_MS } from '../../../src/webhooks/lanes/held/decide-idle.ts'
import { lockLanes } from '../../../src/webhooks/lanes/store.ts'
import { type DirectLease, routeMessages } from '../../../src/webhooks/routing/store-routed.ts'
import type { NewMessage } from '../../../src/webhooks/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type LaneClock, createLaneClock } from '../lane-clock.ts'
import { type Receiver, status } from '../receiver.ts'

const clock = createTestClock()
const runId = uuidv7()
let laneClock: LaneClock
let harness: Harness
let receiver: Receiver
let worker: DeliverWorker
beforeEach(async () => {
  laneClock = createLaneClock()
  ;({ harness, receiver } = await startEngine(clock))
  const { outbound } = harness
  const deadlines = createDeadlines()
  worker = startDeliverWorker(harness.ctx, {
    outbound,
    deadlines,
    tokens: createAccessTokens({ clock, deadlines, outbound }),
    timeoutMs: 60_000,
    random: () => 0.5,
    runId,
    caps: defaultCaps,
    ...laneClock.options,
    startBackMs: 0,
    maxUnwritten: defaultMaxUnwritten,
    minIdleMs: MIN_IDLE_MS,
    limits: defaultWebhookLimits,
    counters: createWebhookCounters(),
  })
  onTestFinished(() => worker.stop())
})

const single = { topics: ['audits'], single_event_per_message: true, order: 'webhook' }

function messageOf(webhookId: string, text: string): NewMessage {
  const body = Buffer.from(JSON.stringify({ topic: 'audits', events: [{ message: text }] }))
  return { orgId: harness.scope.orgId, id: uuidv7(), webhookId, topic: 'audits', body, eventCount: 1, orderKey: null }
}

/** Writes a message as a round of the router does. */
function route(message: NewMessage, lease: DirectLease | null): ReturnType<typeof routeMessages> {
  const rooms = new Map([[message.webhookId, { shared: 1, perWebhook: 0 }]])
  const routed = { steps: [], messages: [message], dropped: [], rooms }
  return routeMessages(harness.ctx.db, routed, { at: clock.now(), lease, vtimeFloor: 0, maxPending: 100 })
}

/** Returns a refused lease while the worker waits for the lock on a stray one. */
async function refusedLease(): Promise<null> {
  worker.releaseStray()
  return waitUntil('a refused lease', () => {
    const lease = worker.lease()
    if (lease !== null) worker.take([], [])
    return lease === null ? { lease } : null
  }).then(({ lease }) => lease)
}

it('keeps the order of messages when a lane is claimed while a round without a lease is written', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const { id: strayId } = await harness.addWebhook({ url: receiver.url, ...single })
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  const { orgId } = harness.scope
  const lease = await inTx(harness.ctx, async (tx) => {
    const stray = { leaseUntil: clock.now(), leasedBy: runId }
    await harness.ctx.db.updateTable('webhookLane').set(stray).where('webhookId', '=', strayId).execute()
    await lockLanes(tx, [{ orgId, webhookId: strayId }])
    const refused = await refusedLease()
    await route(messageOf(id, 'first'), null)
    return refused
  })
  await receiver.waitFor(1)
  const second = await route(messageOf(id, 'second'), lease)
  expect(second).toMatchObject({ direct: [], toClaim: true })
  worker.take(second.direct, second.inserted)
  const third = await route(messageOf(id, 'third'), worker.lease())
  worker.take(third.direct, third.inserted)
  receiver.answer(status(200))
  for (const response of held) response.writeHead(200).end()
  await receiver.waitFor(3)
  expect(receiver.received.map(({ events }) => events[0]?.['message'])).toEqual(['first', 'second', 'third'])
  await waitUntil('everything written', async () => {
    laneClock.advance(50)
    return (await harness.waiting()).pending === 0
  })
})

it('keeps a lane for further events if what was routed without a lease came before its claim', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], single_event_per_message: true })
  const { inserted } = await route(messageOf(id, 'first'), null)
  worker.take([], inserted)
  harness.ctx.wakes.wake('deliveries')
  await receiver.waitFor(1)
  await waitUntil('the result', async () => (await harness.waiting()).messages === 0)
  const { orgId, body, ...message } = messageOf(id, 'second')
  const accepted = Promise.withResolvers<string>()
  const due = { ...message, body, attempt: 0, pauses: 0, payload: null }
  const acceptance = { onEnd: accepted.resolve, isOfBacklog: false }
  expect(worker.accept({ orgId, webhookId: id }, due, acceptance)).toBe(true)
  expect(await accepted.promise).toBe('written')
  expect(receiver.received.map(({ events }) => events[0]?.['message'])).toEqual(['first', 'second'])
})
