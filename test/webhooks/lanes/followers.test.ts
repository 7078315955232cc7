import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { inTx, onQueues } from '../../../src/platform/database/db.ts'
import { type Claimed, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { reopenLane } from '../../../src/webhooks/lanes/store-breaker.ts'
import { lockLanes } from '../../../src/webhooks/lanes/store.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { laneClaim } from '../lane-claim.ts'
import type { Receiver } from '../receiver.ts'

/** The messages of device `a` behind the one that is retried: more than two statements may delay. */
const FOLLOWERS = 2500
/** One message in so many is of device `b`, which waits for nothing. */
const OTHERS = 10
/** The most messages that a statement may delay. */
const PORTION = 1024
const RETRIED_AFTER_MS = 3600e3

let clock: TestClock
let harness: Harness
let receiver: Receiver
let webhookId: string
/** The messages of each device in their order. */
let ids: { readonly a: string[]; readonly b: string[] }
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
  const body = { url: receiver.url, topics: ['device-events'], single_event_per_message: true, order: 'device' }
  ;({ id: webhookId } = await harness.addWebhook(body))
  const { orgId } = harness.scope
  const messages = Array.from({ length: 1 + FOLLOWERS }, (_, place) => {
    const [id, orderKey] = [uuidv7(), place % OTHERS === OTHERS - 1 ? 'b' : 'a']
    const event = { device: orderKey, message: id }
    const json = Buffer.from(JSON.stringify({ topic: 'device-events', events: [event] }))
    return { orgId, id, webhookId, topic: 'device-events', body: json, eventCount: 1, orderKey }
  })
  const idsOf = (device: string) => messages.filter(({ orderKey }) => orderKey === device).map(({ id }) => id)
  ids = { a: idsOf('a'), b: idsOf('b') }
  await inTx(harness.ctx, (tx) => enqueueMessages(tx, messages, clock.now()))
  const retried = { attempt: 1, dueAt: addMs(clock.now(), RETRIED_AFTER_MS) }
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set(retried)
    .where('id', '=', ids.a[0] ?? '')
    .execute()
})

/** Claims as a process does that ends before it sends anything. */
function claim(): Promise<Claimed> {
  return inTx(onQueues(harness.ctx), (tx) => claimLanes(tx, laneClaim(clock)))
}

async function countDelayed(): Promise<number> {
  const later = harness.ctx.db.selectFrom('webhookMessage').select('id').where('dueAt', '>', clock.now())
  return (await later.execute()).length - 1
}

const messagesOf = (device: string) =>
  receiver.received.flatMap(({ events }) =>
    events.filter((event) => event['device'] === device).map((event) => String(event['message'])),
  )

it('delays the messages behind one that is retried a portion at a time, and claims none of them meanwhile', async () => {
  const delayed: number[] = []
  let claimed = await claim()
  while (claimed.lanes.length === 0) {
    expect(claimed.hasMore).toBe(true)
    delayed.push(await countDelayed())
    claimed = await claim()
  }
  delayed.push(await countDelayed())
  expect(delayed.length).toBeGreaterThan(2)
  for (const [place, count] of delayed.entries()) expect(count - (delayed[place - 1] ?? 0)).toBeLessThanOrEqual(PORTION)
  expect(claimed.lanes.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(ids.b)
})

it('keeps the order of a device if the process ends between two portions', async () => {
  expect((await claim()).lanes).toEqual([])
  expect(await countDelayed()).toBeGreaterThan(0)
  await harness.start()
  await waitUntil('the other device gets its messages', () => messagesOf('b').length === ids.b.length)
  expect(messagesOf('a')).toEqual([])
  clock.advance(RETRIED_AFTER_MS)
  harness.wake()
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(messagesOf('a')).toEqual(ids.a)
  expect(messagesOf('b')).toEqual(ids.b)
}, 60_000)

it('makes all due with the message that they wait for, in their order, when the receiver is back', async () => {
  while ((await claim()).lanes.length === 0);
  // A message that came meanwhile has not been delayed.
  const last = {
    orgId: harness.scope.orgId,
    id: uuidv7(),
    webhookId,
    topic: 'device-events',
    eventCount: 1,
    orderKey: 'a',
  }
  const body = Buffer.from(JSON.stringify({ topic: 'device-events', events: [{ device: 'a', message: last.id }] }))
  await inTx(harness.ctx, (tx) => enqueueMessages(tx, [{ ...last, body }], clock.now()))
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute()
  clock.advance(1000)
  await inTx(harness.ctx, async (tx) => {
    await lockLanes(tx, [{ orgId: harness.scope.orgId, webhookId }])
    expect(await reopenLane(tx, { orgId: harness.scope.orgId, webhookId }, { now: clock.now(), keepUntil: null })).toBe(
      true,
    )
  })
  expect(await countDelayed()).toBe(-1)
  await harness.start()
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(messagesOf('a')).toEqual([...ids.a, last.id])
}, 60_000)
