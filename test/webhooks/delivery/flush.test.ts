import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { createFlusher } from '../../../src/webhooks/delivery/flush.ts'
import { createSpareCount } from '../../../src/webhooks/lanes/spare-count.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type FlushWorld, openFlushWorld, tried } from './flush-world.ts'

let flush: FlushWorld
beforeEach(async () => {
  flush = await openFlushWorld()
})
afterEach(() => flush.harness.close())

it('subtracts delivered messages from the count when it releases the lane', async () => {
  const lane = await flush.claimed(3)
  const [first, second] = lane.messages
  if (first === undefined || second === undefined) throw new Error('no messages')
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  await flusher.add({
    lane,
    spare: flush.spare,
    outcome: tried(flush.delivered(lane, first.id)),
  })
  expect(await flush.laneRow()).toMatchObject({ pending: 3, leaseUntil: expect.any(Date) })
  expect(flush.spare.take(Infinity)).toBe(1)
  flush.spare.add(1)
  const release = { failures: 3, openUntil: null, failingSince: null, slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare: flush.spare,
      outcome: tried(flush.delivered(lane, second.id)),
    }),
    flusher.add({ lane, spare: flush.spare, outcome: { release } }),
  ])
  expect(await flush.laneRow()).toEqual({ pending: 1, leaseUntil: null, nextAt: flush.clock.now(), failures: 3 })
})

it('does not wait for a transaction that has locked the webhook and is about to lock its lane', async () => {
  const lane = await flush.claimed(1)
  const [message] = lane.messages
  if (message === undefined) throw new Error('no message')
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  await inTx(flush.harness.ctx, async (tx) => {
    await tx.selectFrom('webhook').select('id').forUpdate().execute()
    await Promise.all([
      flusher.add({
        lane,
        spare: flush.spare,
        outcome: tried(flush.delivered(lane, message.id)),
      }),
      flusher.add({
        lane,
        spare: flush.spare,
        outcome: { release: { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 } },
      }),
    ])
  })
  expect(await flush.laneRow()).toMatchObject({ pending: 0, leaseUntil: null, nextAt: null })
})

it.each([
  ['parks a message after its last attempt', false],
  ['parks no message of a webhook that was deleted during its last attempt', true],
])('%s', async (_what, isDeleted) => {
  const lane = await flush.claimed(1)
  const { record, ...others } = flush.delivered(lane, lane.messages[0]?.id ?? '')
  const last = { ...others, verdict: { kind: 'give_up' }, record: { ...record, status: 'failure' } } as const
  const { ctx } = flush.harness
  if (isDeleted) await ctx.db.deleteFrom('webhook').execute()
  await createFlusher(ctx, flush.counters).add({ lane, spare: flush.spare, outcome: tried(last) })
  const parked = await ctx.db.selectFrom('webhookParkedMessage').select('reason').execute()
  expect(parked).toEqual(isDeleted ? [] : [{ reason: 'exhausted' }])
})

it('writes thousands of results that have waited for a stalled database, in bounded transactions', async () => {
  const lane = await flush.claimed(1)
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const count = 9000
  let written: Promise<unknown> = Promise.resolve()
  await inTx(flush.harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    const results = Array.from({ length: count }, () => flush.delivered(lane, uuidv7()))
    written = Promise.all(results.map((attempt) => flusher.add({ lane, spare: flush.spare, outcome: tried(attempt) })))
    await untilWaiting(flush.harness, 1)
    expect(flusher.hasRoom()).toBe(false)
  })
  await written
  expect(flusher.hasRoom()).toBe(true)
  const { rows } = await sql<{ results: number; transactions: number; most: number }>`
    select sum(results)::int as results, count(*)::int as transactions, max(results)::int as most
    from (select count(*) as results from webhook_delivery group by xmin) t
  `.execute(flush.harness.ctx.db)
  expect(rows[0]?.results).toBe(count)
  expect(rows[0]?.most).toBeLessThanOrEqual(500)
})

it('has no room while large results wait, even if they are few', async () => {
  const lane = await flush.claimed(1)
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const payload = 'x'.repeat(1_000_000)
  let written: Promise<unknown> = Promise.resolve()
  await inTx(flush.harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    const results = Array.from({ length: 20 }, () => flush.delivered(lane, uuidv7(), payload))
    written = Promise.all(results.map((attempt) => flusher.add({ lane, spare: flush.spare, outcome: tried(attempt) })))
    await untilWaiting(flush.harness, 1)
    expect(flusher.hasRoom()).toBe(false)
  })
  await written
  expect(flusher.hasRoom()).toBe(true)
})

it('drops the one result that the database refuses, and keeps its lane leased', async () => {
  const [bad, good] = [await flush.claimed(1), await flush.claimed(1)]
  const ofBad = createSpareCount(200)
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  await sql`alter table webhook_body add check (req_payload <> 'refused')`.execute(flush.harness.ctx.db)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  const settled = await Promise.allSettled([
    flusher.add({
      lane: bad,
      spare: ofBad,
      outcome: tried(flush.delivered(bad, bad.messages[0]?.id ?? '', 'refused')),
    }),
    flusher.add({ lane: bad, spare: ofBad, outcome: { release } }),
    flusher.add({
      lane: good,
      spare: flush.spare,
      outcome: tried(flush.delivered(good, good.messages[0]?.id ?? '')),
    }),
    flusher.add({ lane: good, spare: flush.spare, outcome: { release } }),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  const lanes = await flush.harness.ctx.db
    .selectFrom('webhookLane')
    .select(['pending', 'leaseUntil'])
    .orderBy('webhookId')
    .execute()
  expect(lanes).toEqual([
    { pending: 1, leaseUntil: expect.any(Date) },
    { pending: 0, leaseUntil: null },
  ])
  expect(flush.counters.read().results_refused).toBe(1)
})

it('reports leases that could not be ended, although the results are written', async () => {
  const lane = await flush.claimed(2)
  let left = 0
  const flusher = createFlusher(flush.harness.ctx, flush.counters, { onLeasesLeft: () => void (left += 1) })
  await sql`alter table webhook_lane add check (lease_until is not null) not valid`.execute(flush.harness.ctx.db)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare: flush.spare,
      outcome: tried(flush.delivered(lane, lane.messages[0]?.id ?? '')),
    }),
    flusher.add({ lane, spare: flush.spare, outcome: { release } }),
  ])
  expect(left).toBe(1)
  expect(await flush.laneRow()).toMatchObject({ pending: 1 })
})

/** Ends the connections that wait for a lock, as a stopping database ends all connections. */
async function endWaitingConnections(): Promise<void> {
  await untilWaiting(flush.harness, 1)
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `.execute(flush.harness.ctx.db)
}

it('retries while the database is unavailable, until it is stopped', async () => {
  const lane = await flush.claimed(2)
  const [first, second] = lane.messages
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const push = (id = '') => flusher.add({ lane, spare: flush.spare, outcome: tried(flush.delivered(lane, id)) })
  const whileLocked = (work: () => Promise<void>) =>
    inTx(flush.harness.ctx, async (tx) => {
      await sql`lock table webhook_delivery in share mode`.execute(tx)
      await work()
    })
  let repeated: Promise<void> = Promise.resolve()
  await whileLocked(async () => {
    repeated = push(first?.id)
    await endWaitingConnections()
    await untilWaiting(flush.harness, 1)
  })
  await repeated
  expect((await flush.harness.waiting()).messages).toBe(1)
  await whileLocked(async () => {
    const failing = expect(push(second?.id)).rejects.toThrow()
    await untilWaiting(flush.harness, 1)
    const stopped = flusher.stop()
    await endWaitingConnections()
    await failing
    await stopped
  })
  expect((await flush.harness.waiting()).messages).toBe(1)
})
