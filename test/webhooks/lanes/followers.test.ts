import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { inTx, onQueues } from '../../../src/platform/database/db.ts'
import { type Claimed, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { reopenLane } from '../../../src/webhooks/lanes/store-breaker.ts'
import { lockLanes } from '../../../src/webhooks/lanes/store.ts'
import { pullMessages } from '../../../src/webhooks/pull/pull-messages.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
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
const EARLIEST_ID = '00000000-0000-7000-8000-000000000000'

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

/** Counts the messages behind the one that is retried that are not due. */
async function countDelayed(): Promise<number> {
  const behind = harness.ctx.db
    .selectFrom('webhookMessage')
    .select('id')
    .where('id', '>', ids.a[0] ?? '')
  return (await behind.where('dueAt', '>', clock.now()).execute()).length
}

/** Adds a message of device `a` that precedes the one that is retried, as a replay does. @returns Its id. */
async function addBefore(dueAt: Date): Promise<string> {
  const { ctx, scope } = harness
  const message = { orgId: scope.orgId, id: EARLIEST_ID, webhookId, topic: 'device-events', eventCount: 1 }
  await inTx(ctx, (tx) => enqueueMessages(tx, [{ ...message, body: Buffer.from('{}'), orderKey: 'a' }], clock.now()))
  await ctx.db.updateTable('webhookMessage').set({ dueAt }).where('id', '=', EARLIEST_ID).execute()
  return EARLIEST_ID
}

const messagesOf = (device: string) =>
  receiver.received.flatMap(({ events }) =>
    events.filter((event) => event['device'] === device).map((event) => String(event['message'])),
  )

it('delays the messages behind one that is retried a portion at a time, and claims none of them meanwhile', async () => {
  const before = await addBefore(clock.now())
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
  expect(claimed.lanes.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual([before, ...ids.b])
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

/**
 * Delays all messages of device `a`, lets one more come, and lets the receiver be back after `afterMs`.
 * @returns The last message.
 */
async function reopen(afterMs = 1000): Promise<string> {
  while ((await claim()).lanes.length === 0);
  const { ctx, scope } = harness
  // It has not been delayed.
  const last = { orgId: scope.orgId, id: uuidv7(), webhookId, topic: 'device-events', eventCount: 1, orderKey: 'a' }
  const body = Buffer.from(JSON.stringify({ topic: 'device-events', events: [{ device: 'a', message: last.id }] }))
  await inTx(ctx, (tx) => enqueueMessages(tx, [{ ...last, body }], clock.now()))
  await ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute()
  clock.advance(afterMs)
  await inTx(ctx, async (tx) => {
    const lane = { orgId: scope.orgId, webhookId }
    await lockLanes(tx, [lane])
    expect(await reopenLane(tx, lane, { now: clock.now(), keepUntil: null })).toBe(true)
  })
  return last.id
}

it('makes all due with the message that they wait for a portion at a time, and claims none of them meanwhile', async () => {
  const dueAt = addMs(clock.now(), RETRIED_AFTER_MS / 2)
  const before = await addBefore(dueAt)
  await reopen()
  const left = [await countDelayed()]
  expect(left[0]).toBe(ids.a.length - 1)
  let claimed = await claim()
  while (claimed.lanes.length === 0) {
    expect(claimed.hasMore).toBe(true)
    left.push(await countDelayed())
    claimed = await claim()
  }
  expect(left.length).toBeGreaterThan(3)
  expect(left.at(-1)).toBe(0)
  for (const [place, count] of left.entries()) expect((left[place - 1] ?? count) - count).toBeLessThanOrEqual(PORTION)
  const of = claimed.lanes.flatMap(({ messages }) => messages.map(({ id }) => id))
  expect(of.filter((id) => ids.a.includes(id))).toEqual(ids.a.slice(0, of.length - ids.b.length))
  // What does not wait for the retry is not due with it.
  const kept = harness.ctx.db.selectFrom('webhookMessage').select('dueAt').where('id', '=', before)
  expect(await kept.execute()).toEqual([{ dueAt }])
})

it('keeps the order of a device if the process ends while they become due', async () => {
  const last = await reopen()
  expect((await claim()).lanes).toEqual([])
  await harness.start()
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(messagesOf('a')).toEqual([...ids.a, last])
}, 60_000)

it('keeps the order of a device if the former time of the retry passes before the next claim', async () => {
  const last = await reopen(RETRIED_AFTER_MS - 1000)
  clock.advance(2000)
  await harness.start()
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(messagesOf('a')).toEqual([...ids.a, last])
}, 60_000)

it('hands all of them out in order if their receiver fetches them from then on', async () => {
  const last = await reopen()
  const { ctx, scope, outbound } = harness
  await updateWebhook(ctx, scope, { id: webhookId, body: { type: 'pull', url: null, order: null }, outbound })
  const fetched: string[] = []
  for (let cursor = 0n, count = -1; count !== 0;) {
    const handed = await pullMessages(ctx, scope, { id: webhookId, cursor, limit: 1000 })
    cursor = handed.cursor
    count = handed.messages.length
    fetched.push(...handed.messages.map(({ id }) => id))
  }
  expect(fetched).toEqual([...ids.a, ...ids.b, last].toSorted())
})
