import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { insertOutbox } from '../../../src/events/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { readsOf, reportReads } from '../../support/database/reads.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from './broken-lanes.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, status } from '../receiver.ts'

/** The rows that are gone from each queue, while a transaction retains them. */
const GONE = 10_000
/** So many that the statements get a plan for any values, which PostgreSQL makes after the fifth execution. */
const EVENTS = 100
const RETRIED_EVENTS = 20
const WEBHOOKS = 2
/** The most pages of the queues that an attempt may read; the rows that are gone have about 700. */
const FEW = 30

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
  // Events of one webhook are not routed. This order is kept by counting attempts in place.
  for (const order of [null, 'webhook']) {
    const url = `${receiver.url}/${order}`
    await harness.addWebhook({ url, topics: ['audits'], single_event_per_message: true, order })
  }
})

/** Leaves nothing in the queues but rows that are gone, which the transaction retains that is open during the work. */
async function whileFullOfGoneRows(work: () => Promise<void>): Promise<void> {
  const { ctx, scope } = harness
  const { orgId } = scope
  const { webhookId } = await ctx.db.selectFrom('webhookLane').select('webhookId').executeTakeFirstOrThrow()
  await ctx.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (held) => {
      await sql`select from webhook limit 1`.execute(held)
      const message = { orgId, webhookId, topic: 'audits', body: Buffer.from('{}'), eventCount: 1, orderKey: null }
      const event = { id: '', timestamp: 0, org_id: orgId, message: '', admin_id: null, admin_name: '', src_ip: '' }
      const audit = { orgId, siteId: null, topic: 'audits' as const, event: { ...event, user_agent: null } }
      await inTx(ctx, async (tx) => {
        const { pending, nextAt } = await tx
          .selectFrom('webhookLane')
          .select(['pending', 'nextAt'])
          .where('webhookId', '=', webhookId)
          .forUpdate()
          .executeTakeFirstOrThrow()
        const messages = Array.from({ length: GONE }, () => ({ ...message, id: uuidv7() }))
        await enqueueMessages(tx, messages, clock.now())
        await insertOutbox(
          tx,
          Array.from({ length: GONE }, () => audit),
          clock.now(),
        )
        for (const table of ['webhook_message', 'webhook_outbox'])
          await sql`delete from ${sql.table(table)}`.execute(tx)
        await tx.updateTable('webhookLane').set({ pending, nextAt }).where('webhookId', '=', webhookId).execute()
        await reportReads(tx)
      })
      // The messages that follow are due later.
      clock.advance(1000)
      await work()
    })
}

/** Counts the pages of the queues and their indexes that the work reads on any connection. */
const pagesRead = (work: () => Promise<void>): Promise<number> =>
  readsOf(harness.ctx.db, { tables: ['webhook_message', 'webhook_outbox'], unit: 'blocks_fetched' }, work)

const analyze = () =>
  inTx(harness.ctx, async (tx) => {
    await sql`analyze webhook_message, webhook_outbox`.execute(tx)
    await reportReads(tx)
  })

/** Commits events one by one. */
async function commitEvents(count: number): Promise<void> {
  for (let event = 0; event < count; event += 1) await harness.audit(`${event}`)
}

/** Waits until each webhook has got the events. Nothing here reads the queues, so that only the engine's reads count. */
async function send(): Promise<void> {
  const received = receiver.received.length
  await commitEvents(EVENTS)
  await receiver.waitFor(received + EVENTS * WEBHOOKS)
}

/** Expects that everything is delivered and the lanes are right. */
async function expectDone(): Promise<void> {
  await waitUntil('the results are written', async () => (await harness.waiting()).messages === 0)
  expect(await countBrokenLanes(harness)).toBe(0)
}

it('deliveries read few pages although statistics say that the queues are empty', async () => {
  await whileFullOfGoneRows(async () => {
    await analyze()
    await harness.start()
    const read = await pagesRead(send)
    expect(read).toBeLessThan(EVENTS * WEBHOOKS * FEW)
    await expectDone()
  })
}, 60_000)

it('deliveries read few pages by plans that were made while the queues were empty', async () => {
  await analyze()
  await harness.start()
  await send()
  await whileFullOfGoneRows(async () => {
    const read = await pagesRead(send)
    expect(read).toBeLessThan(EVENTS * WEBHOOKS * FEW)
    await expectDone()
  })
}, 60_000)

it('retries read few pages although statistics say that the queues are empty', async () => {
  await whileFullOfGoneRows(async () => {
    await analyze()
    receiver.answer(status(500))
    await harness.start()
    const taken = new Set<string>()
    const read = await pagesRead(async () => {
      await commitEvents(RETRIED_EVENTS)
      const paths = () => new Set(receiver.received.map(({ path }) => path)).size
      await waitUntil('both lanes have failed', () => paths() === WEBHOOKS)
      receiver.answer((_request, response, { path, raw }) => {
        taken.add(`${path} ${raw.toString()}`)
        response.end()
      })
      await waitUntil('all are delivered', () => {
        clock.advance(10_000)
        harness.ctx.wakes.wake('deliveries')
        return taken.size === RETRIED_EVENTS * WEBHOOKS
      })
    })
    // Each message is tried about twice.
    expect(read).toBeLessThan(2 * RETRIED_EVENTS * WEBHOOKS * FEW)
    await expectDone()
  })
}, 60_000)
