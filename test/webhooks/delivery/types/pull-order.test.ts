import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { inTx } from '../../../../src/platform/database/db.ts'
import { enqueueMessages } from '../../../../src/webhooks/delivery/store-enqueue.ts'
import { shiftLanes } from '../../../../src/webhooks/lanes/store-clock.ts'
import { orderByCreation } from '../../../../src/webhooks/lanes/store-order.ts'
import { lockLanes } from '../../../../src/webhooks/lanes/store.ts'
import { acknowledgeMessages, pullMessages } from '../../../../src/webhooks/pull/pull-messages.ts'
import { sweepLanes } from '../../../../src/webhooks/tasks.ts'
import { updateWebhook } from '../../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { type Harness, createHarness } from '../../harness.ts'
import { createRouterTurns } from '../../router-turns.ts'

const HOUR_MS = 3600e3
/** More than two transactions put in order. */
const COUNT = 2500
/** The most messages that one of them looks at. */
const PORTION = 1024
const url = 'https://hooks.example'
const toFetch = { type: 'pull', url: null }

let clock: TestClock
let harness: Harness
let id: string
/** The messages in their order. All wait for a retry, the later ones for a shorter time. */
let ids: string[]
beforeEach(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
  onTestFinished(() => harness.close())
  ;({ id } = await harness.addWebhook({ url, topics: [] }))
  const { ctx, scope } = harness
  ids = Array.from({ length: COUNT }, () => uuidv7())
  const others = { orgId: scope.orgId, webhookId: id, topic: 'audits', body: Buffer.from('{}'), eventCount: 1 }
  const messages = ids.map((messageId) => Object.assign({ id: messageId, orderKey: null }, others))
  await inTx(ctx, (tx) => enqueueMessages(tx, messages, clock.now()))
  await sql`
    update webhook_message m set attempt = 1, due_at = ${clock.now()}::timestamptz + (${COUNT + 1000} - n.place) * interval '1 second'
    from (select id, row_number() over (order by id) as place from webhook_message) n where n.id = m.id
  `.execute(ctx.db)
  await ctx.db.updateTable('webhookLane').set({ failures: 1, failingSince: clock.now() }).execute()
  clock.advance(1000)
})

const change = (body: Record<string, unknown>) =>
  updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })

/** Puts a portion in order, as a request for messages does whose process ends then. */
async function orderPortion(): Promise<boolean> {
  const lane = { orgId: harness.scope.orgId, webhookId: id }
  return inTx(harness.ctx, async (tx) => {
    await lockLanes(tx, [lane])
    return orderByCreation(tx, lane, clock.now())
  })
}

async function countDue(): Promise<number> {
  const due = harness.ctx.db.selectFrom('webhookMessage').select('id').where('dueAt', '<=', clock.now())
  return (await due.execute()).length
}

async function fetchAll(): Promise<string[]> {
  const fetched: string[] = []
  for (let cursor = 0n, count = -1; count !== 0;) {
    const handed = await pullMessages(harness.ctx, harness.scope, { id, cursor, limit: 1000 })
    cursor = handed.cursor
    count = handed.messages.length
    fetched.push(...handed.messages.map((message) => message.id))
  }
  return fetched
}

it('puts messages in order with the first request for them, a portion per transaction, also if the process ends in between', async () => {
  await change(toFetch)
  // The change makes some due because it closes the breaker.
  const closed = await countDue()
  expect(closed).toBeLessThanOrEqual(PORTION)
  expect(await orderPortion()).toBe(true)
  expect((await countDue()) - closed).toBeLessThanOrEqual(PORTION)
  expect(await sweepLanes(harness.ctx)).toBe(0)
  expect(await fetchAll()).toEqual(ids)
  expect(await sweepLanes(harness.ctx)).toBe(0)
})

it('pauses between two transactions, because the router gets the lane only if nobody has it', async () => {
  await change(toFetch)
  const turns = createRouterTurns(harness.ctx)
  const { cursor } = await pullMessages(harness.ctx, harness.scope, { id, cursor: 0n, limit: 1000 }, turns.pause)
  expect(turns.lanes).toEqual([1, 1])
  await acknowledgeMessages(harness.ctx, harness.scope, { id, cursor }, turns.pause)
  // All messages of the cursor are in two portions, and nobody waits behind the last one.
  expect(turns.lanes).toEqual([1, 1, 1])
  expect(Math.min(...turns.pauses)).toBeGreaterThan(0)
})

it('puts them in order after a change of the webhook in between', async () => {
  await change(toFetch)
  await orderPortion()
  await orderPortion()
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute()
  // It closes the breaker, which makes retries due that are not in order.
  clock.advance(1000)
  await change({ secret: 'another' })
  expect(await fetchAll()).toEqual(ids)
})

it('sends them at the times of their retries again if none was put in order', async () => {
  await change(toFetch)
  const due = await countDue()
  await change({ type: 'http-post', url })
  expect(await countDue()).toBe(due)
  expect(due).toBeLessThan(COUNT)
  expect(await orderPortion()).toBe(false)
  expect(await countDue()).toBe(due)
})

it.each<[string, () => Promise<unknown>]>([
  ['', async () => undefined],
  [', also after a change of the webhook in between', () => change({ name: 'Renamed' })],
  [
    ', also if the change makes others due because it closes the breaker',
    () => harness.ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute(),
  ],
])('sends all of them in their order if some were put in order%s', async (_, happen) => {
  await change(toFetch)
  await orderPortion()
  await orderPortion()
  await happen()
  clock.advance(1000)
  await change({ type: 'http-post', url })
  expect(await countDue()).toBe(COUNT)
  expect(await orderPortion()).toBe(false)
  const first = harness.ctx.db.selectFrom('webhookMessage').select('id').orderBy('dueAt').orderBy('id')
  expect((await first.execute()).map((message) => message.id)).toEqual(ids)
  expect(await sweepLanes(harness.ctx)).toBe(0)
})

it('puts them in order although the clock is set back in between', async () => {
  await change(toFetch)
  await orderPortion()
  await orderPortion()
  const { ctx, scope } = harness
  await inTx(ctx, (tx) => shiftLanes(tx, [{ orgId: scope.orgId, webhookId: id }], { now: clock.now(), ms: HOUR_MS }))
  expect(await fetchAll()).toEqual(ids)
})
