import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { type WebhookCounters, createWebhookCounters } from '../../../src/webhooks/counters.ts'
import type { Attempt } from '../../../src/webhooks/delivery/deliver-message.ts'
import { createFlusher } from '../../../src/webhooks/delivery/flush.ts'
import { type ClaimedLane, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { lockLanes, recountLanes } from '../../../src/webhooks/lanes/store.ts'
import { type SpareCount, createSpareCount } from '../../../src/webhooks/lanes/spare-count.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type Harness, createHarness } from '../harness.ts'
import { laneClaim } from '../lane-claim.ts'
import { createTestClock } from '../../support/test-clock.ts'

const clock = createTestClock()
const url = 'http://127.0.0.1:1/'
const noFailures = { failures: 0, failingSince: null }
let harness: Harness
let counters: WebhookCounters
/** The count of the lane of a test that has one lane. */
let spare: SpareCount
beforeEach(async () => {
  spare = createSpareCount(200)
  counters = createWebhookCounters()
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

/** Returns a webhook's leased lane with this number of messages. */
async function claimed(messages: number): Promise<ClaimedLane> {
  const { id } = await harness.addWebhook({ url, topics: ['audits'] })
  const now = clock.now()
  const message = { orgId: harness.scope.orgId, webhookId: id, topic: 'audits', eventCount: 1, orderKey: null }
  const added = Array.from({ length: messages }, () => ({ ...message, id: uuidv7(), body: Buffer.from('{}') }))
  await inTx(harness.ctx, (tx) => enqueueMessages(tx, added, now))
  const claim = laneClaim(clock, { lanesOf: () => 1 })
  const [lane] = (await inTx(harness.ctx, (tx) => claimLanes(tx, claim))).lanes
  if (lane?.messages.length !== messages) throw new Error('not claimed')
  return lane
}

function delivered({ orgId, webhookId }: ClaimedLane, messageId: string, reqPayload = '{}'): Attempt {
  const answer = { respHeaders: null, respBody: null, remoteAddress: null }
  const payload = { reqPayload, payloadId: null, payloadAt: null, payloadBytes: null }
  const exchange = { reqHeaders: '{}', headersReduced: null, signatures: null, ...payload, ...answer }
  return {
    verdict: { kind: 'delivered' },
    askedMs: 0,
    pauses: 0,
    record: {
      orgId,
      id: uuidv7(),
      webhookId,
      messageId,
      siteId: null,
      topic: 'audits',
      attempt: 1,
      status: 'success',
      statusCode: 200,
      error: null,
      reqUrl: url,
      createdAt: clock.now(),
      durationMs: 1,
      final: true,
      nextAttempt: null,
      exchange,
    },
  }
}

const laneRow = () =>
  harness.ctx.db
    .selectFrom('webhookLane')
    .select(['pending', 'leaseUntil', 'nextAt', 'failures'])
    .executeTakeFirstOrThrow()

/** Tells whether the row was changed. */
const laneVersion = async () =>
  (
    await sql<{ pending: number; ctid: string }>`select pending, ctid::text as ctid from webhook_lane`.execute(
      harness.ctx.db,
    )
  ).rows[0] ?? { pending: NaN, ctid: '' }

it('subtracts delivered messages from the count when it releases the lane', async () => {
  const lane = await claimed(3)
  const [first, second] = lane.messages
  if (first === undefined || second === undefined) throw new Error('no messages')
  const flusher = createFlusher(harness.ctx, counters)
  await flusher.add({
    lane,
    spare,
    outcome: { attempt: delivered(lane, first.id), failures: noFailures, unrouted: null },
  })
  expect(await laneRow()).toMatchObject({ pending: 3, leaseUntil: expect.any(Date) })
  expect(spare.take(Infinity)).toBe(1)
  spare.add(1)
  const release = { failures: 3, openUntil: null, failingSince: null, slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare,
      outcome: { attempt: delivered(lane, second.id), failures: noFailures, unrouted: null },
    }),
    flusher.add({ lane, spare, outcome: { release } }),
  ])
  expect(await laneRow()).toEqual({ pending: 1, leaseUntil: null, nextAt: clock.now(), failures: 3 })
})

it('does not wait for a transaction that has locked the webhook and is about to lock its lane', async () => {
  const lane = await claimed(1)
  const [message] = lane.messages
  if (message === undefined) throw new Error('no message')
  const flusher = createFlusher(harness.ctx, counters)
  await inTx(harness.ctx, async (tx) => {
    await tx.selectFrom('webhook').select('id').forUpdate().execute()
    await Promise.all([
      flusher.add({
        lane,
        spare,
        outcome: { attempt: delivered(lane, message.id), failures: noFailures, unrouted: null },
      }),
      flusher.add({
        lane,
        spare,
        outcome: { release: { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 } },
      }),
    ])
  })
  expect(await laneRow()).toMatchObject({ pending: 0, leaseUntil: null, nextAt: null })
})

it('writes thousands of results that have waited for a stalled database, in bounded transactions', async () => {
  const lane = await claimed(1)
  const flusher = createFlusher(harness.ctx, counters)
  const count = 9000
  let written: Promise<unknown> = Promise.resolve()
  await inTx(harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    const results = Array.from({ length: count }, () => delivered(lane, uuidv7()))
    written = Promise.all(
      results.map((attempt) =>
        flusher.add({ lane, spare, outcome: { attempt, failures: noFailures, unrouted: null } }),
      ),
    )
    await untilWaiting(harness, 1)
    expect(flusher.hasRoom()).toBe(false)
  })
  await written
  expect(flusher.hasRoom()).toBe(true)
  const { rows } = await sql<{ results: number; transactions: number; most: number }>`
    select sum(results)::int as results, count(*)::int as transactions, max(results)::int as most
    from (select count(*) as results from webhook_delivery group by xmin) t
  `.execute(harness.ctx.db)
  expect(rows[0]?.results).toBe(count)
  expect(rows[0]?.most).toBeLessThanOrEqual(500)
})

it('has no room while large results wait, even if they are few', async () => {
  const lane = await claimed(1)
  const flusher = createFlusher(harness.ctx, counters)
  const payload = 'x'.repeat(1_000_000)
  let written: Promise<unknown> = Promise.resolve()
  await inTx(harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    const results = Array.from({ length: 20 }, () => delivered(lane, uuidv7(), payload))
    written = Promise.all(
      results.map((attempt) =>
        flusher.add({ lane, spare, outcome: { attempt, failures: noFailures, unrouted: null } }),
      ),
    )
    await untilWaiting(harness, 1)
    expect(flusher.hasRoom()).toBe(false)
  })
  await written
  expect(flusher.hasRoom()).toBe(true)
})

it('drops the one result that the database refuses, and keeps its lane leased', async () => {
  const [bad, good] = [await claimed(1), await claimed(1)]
  const ofBad = createSpareCount(200)
  const flusher = createFlusher(harness.ctx, counters)
  await sql`alter table webhook_body add check (req_payload <> 'refused')`.execute(harness.ctx.db)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  const settled = await Promise.allSettled([
    flusher.add({
      lane: bad,
      spare: ofBad,
      outcome: { attempt: delivered(bad, bad.messages[0]?.id ?? '', 'refused'), failures: noFailures, unrouted: null },
    }),
    flusher.add({ lane: bad, spare: ofBad, outcome: { release } }),
    flusher.add({
      lane: good,
      spare,
      outcome: { attempt: delivered(good, good.messages[0]?.id ?? ''), failures: noFailures, unrouted: null },
    }),
    flusher.add({ lane: good, spare, outcome: { release } }),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  const lanes = await harness.ctx.db
    .selectFrom('webhookLane')
    .select(['pending', 'leaseUntil'])
    .orderBy('webhookId')
    .execute()
  expect(lanes).toEqual([
    { pending: 1, leaseUntil: expect.any(Date) },
    { pending: 0, leaseUntil: null },
  ])
  expect(counters.read().results_refused).toBe(1)
})

it('reports leases that could not be ended, although the results are written', async () => {
  const lane = await claimed(2)
  let left = 0
  const flusher = createFlusher(harness.ctx, counters, { onLeasesLeft: () => void (left += 1) })
  await sql`alter table webhook_lane add check (lease_until is not null) not valid`.execute(harness.ctx.db)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare,
      outcome: { attempt: delivered(lane, lane.messages[0]?.id ?? ''), failures: noFailures, unrouted: null },
    }),
    flusher.add({ lane, spare, outcome: { release } }),
  ])
  expect(left).toBe(1)
  expect(await laneRow()).toMatchObject({ pending: 1 })
})

/** Ends the connections that wait for a lock, as a stopping database ends all connections. */
async function endWaitingConnections(): Promise<void> {
  await untilWaiting(harness, 1)
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `.execute(harness.ctx.db)
}

it('retries while the database is unavailable, until it is stopped', async () => {
  const lane = await claimed(2)
  const [first, second] = lane.messages
  const flusher = createFlusher(harness.ctx, counters)
  const push = (id = '') =>
    flusher.add({ lane, spare, outcome: { attempt: delivered(lane, id), failures: noFailures, unrouted: null } })
  const whileLocked = (work: () => Promise<void>) =>
    inTx(harness.ctx, async (tx) => {
      await sql`lock table webhook_delivery in share mode`.execute(tx)
      await work()
    })
  let repeated: Promise<void> = Promise.resolve()
  await whileLocked(async () => {
    repeated = push(first?.id)
    await endWaitingConnections()
    await untilWaiting(harness, 1)
  })
  await repeated
  expect((await harness.waiting()).messages).toBe(1)
  await whileLocked(async () => {
    const failing = expect(push(second?.id)).rejects.toThrow()
    await untilWaiting(harness, 1)
    const stopped = flusher.stop()
    await endWaitingConnections()
    await failing
    await stopped
  })
  expect((await harness.waiting()).messages).toBe(1)
})

it('writes the count of a held lane only when the row counts far too many, and of a lost one at once', async () => {
  const lane = await claimed(64)
  const [first, second, ...others] = lane.messages.map(({ id }) => id)
  const push = (ids: readonly (string | undefined)[]) =>
    Promise.all(
      ids.map((id = '') =>
        flusher.add({ lane, spare, outcome: { attempt: delivered(lane, id), failures: noFailures, unrouted: null } }),
      ),
    )
  const flusher = createFlusher(harness.ctx, counters)
  const { ctid } = await laneVersion()
  await push([first, second])
  expect(await laneVersion()).toEqual({ pending: 64, ctid })
  // These messages were added and deleted meanwhile.
  await harness.ctx.db.updateTable('webhookLane').set({ pending: 264 }).execute()
  spare.add(200)
  await push(others.slice(0, 2))
  expect(await laneRow()).toMatchObject({ pending: 60 })
  // The router has used one of them, and the lane was lost.
  spare.add(3)
  await harness.ctx.db
    .updateTable('webhookLane')
    .set({ epoch: sql`epoch + 1` })
    .execute()
  await push(others.slice(2, 4))
  expect(await laneRow()).toMatchObject({ pending: 58 })
  expect(spare.take(Infinity)).toBe(3)
  spare.add(3)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  // Nobody has counted the messages since, so the row still counts them too much.
  await flusher.add({ lane, spare, outcome: { release } })
  expect(await laneRow()).toMatchObject({ pending: 55, leaseUntil: expect.any(Date) })
  spare.add(3)
  await inTx(harness.ctx, (tx) => recountLanes(tx, [lane]))
  await flusher.add({ lane, spare, outcome: { release } })
  expect([await laneRow(), spare.isZero()]).toEqual([expect.objectContaining({ pending: 58 }), true])
})

it('corrects the count of a lane that stays leased', async () => {
  const lane = await claimed(3)
  const flusher = createFlusher(harness.ctx, counters)
  const [first, second] = lane.messages.map(({ id }) => delivered(lane, id))
  if (first === undefined || second === undefined) throw new Error('no messages')
  await flusher.add({ lane, spare, outcome: { attempt: first, failures: noFailures, unrouted: null } })
  expect([await laneRow(), spare.isZero()]).toEqual([expect.objectContaining({ pending: 3 }), false])
  await Promise.all([
    flusher.add({ lane, spare, outcome: { attempt: second, failures: noFailures, unrouted: null } }),
    flusher.add({ lane, spare, outcome: { corrects: true } }),
  ])
  expect(await laneRow()).toMatchObject({ pending: 1, leaseUntil: expect.any(Date) })
  expect(spare.isZero()).toBe(true)
})

it.each([[true], [false]])(
  'subtracts from a count that is made while results wait only what they delete; corrects: %j',
  async (corrects) => {
    const lane = await claimed(3)
    const flusher = createFlusher(harness.ctx, counters)
    const [first, second] = lane.messages.map(({ id }) => delivered(lane, id))
    if (first === undefined || second === undefined) throw new Error('no messages')
    await flusher.add({ lane, spare, outcome: { attempt: first, failures: noFailures, unrouted: null } })
    let written: Promise<unknown> = Promise.resolve()
    await inTx(harness.ctx, async (tx) => {
      await lockLanes(tx, [lane])
      written = Promise.all([
        flusher.add({ lane, spare, outcome: { attempt: second, failures: noFailures, unrouted: null } }),
        corrects ? flusher.add({ lane, spare, outcome: { corrects: true } }) : null,
      ])
      await untilWaiting(harness, 1)
      await recountLanes(tx, [lane])
    })
    await written
    expect((await harness.waiting()).messages).toBe(1)
    expect(await laneRow()).toMatchObject({ pending: 1 })
  },
)

it.each([
  { isRecounted: false, fails: false },
  { isRecounted: false, fails: true },
  { isRecounted: true, fails: false },
  { isRecounted: true, fails: true },
])(
  'corrects the count of a lane that was lost beside the results of its next holder: %j',
  async ({ isRecounted, fails }) => {
    const lane = await claimed(4)
    const [first, second, third] = lane.messages.map(({ id }) => delivered(lane, id))
    if (first === undefined || second === undefined || third === undefined) throw new Error('no messages')
    const flusher = createFlusher(harness.ctx, counters)
    await flusher.add({ lane, spare, outcome: { attempt: first, failures: noFailures, unrouted: null } })
    await flusher.add({ lane, spare, outcome: { attempt: second, failures: noFailures, unrouted: null } })
    expect(await laneRow()).toMatchObject({ pending: 4 })
    if (isRecounted) await inTx(harness.ctx, (tx) => recountLanes(tx, [lane]))
    const lost = await harness.ctx.db
      .updateTable('webhookLane')
      .set({ epoch: sql`epoch + 1` })
      .returning('epoch')
      .executeTakeFirstOrThrow()
    const next = { lane: { ...lane, epoch: lost.epoch }, spare: createSpareCount(200) }
    const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
    const later = { status: 'failure', final: false, nextAttempt: clock.now() } as const
    const attempt: Attempt = fails ? { ...third, record: { ...third.record, ...later } } : third
    await Promise.all([
      flusher.add({ lane, spare, outcome: { release } }),
      flusher.add({ ...next, outcome: { attempt, failures: noFailures, unrouted: null } }),
    ])
    const waiting = fails ? 2 : 1
    expect(await harness.waiting()).toEqual({ messages: waiting, pending: waiting })
    expect([spare.isZero(), next.spare.isZero()]).toEqual([true, true])
  },
)

it('keeps the count of a lane whose results are written together with failures', async () => {
  const lane = await claimed(3)
  const [first, second, third] = lane.messages.map(({ id }) => delivered(lane, id))
  if (first === undefined || second === undefined || third === undefined) throw new Error('no messages')
  const later = new Date(clock.now().getTime() + 5000)
  const failed: Attempt = {
    ...second,
    verdict: { kind: 'retry', afterMs: 5000 },
    record: { ...second.record, status: 'failure', statusCode: 500, final: false, nextAttempt: later },
  }
  const flusher = createFlusher(harness.ctx, counters)
  const { ctid } = await laneVersion()
  await Promise.all(
    [first, failed].map((attempt) =>
      flusher.add({ lane, spare, outcome: { attempt, failures: noFailures, unrouted: null } }),
    ),
  )
  expect(await laneVersion()).toEqual({ pending: 3, ctid })
  const release = { failures: 1, openUntil: null, failingSince: clock.now(), slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare,
      outcome: {
        attempt: { ...failed, record: { ...failed.record, id: uuidv7() } },
        failures: noFailures,
        unrouted: null,
      },
    }),
    flusher.add({ lane, spare, outcome: { release } }),
  ])
  expect(await laneRow()).toMatchObject({ pending: 2, leaseUntil: null, failures: 1 })
  expect(await harness.waiting()).toEqual({ messages: 2, pending: 2 })
})
