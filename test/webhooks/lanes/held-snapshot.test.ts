import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { deleteEvents } from '../../../src/events/store-outbox.ts'
import { insertOutbox } from '../../../src/events/store.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { claimLanes, deleteMessages } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import {
  type LaneKey,
  endLeases,
  lockLanes,
  rescheduleLane,
  updateHeldLanes,
} from '../../../src/webhooks/lanes/store.ts'
import { findQueues, firstKey, lowestId } from '../../../src/webhooks/routing/store.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes, countOvercountedLanes } from './broken-lanes.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { createLaneClock } from '../lane-clock.ts'
import { laneClaim } from '../lane-claim.ts'
import type { Receiver } from '../receiver.ts'

/** The rows that are deleted while a transaction retains them. */
const GONE = 3000
/** The most entries of an index that a look-up of a few rows may read. */
const FEW = 100
/** The events that wait for a receiver which does not answer. */
const BEHIND = 200

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
})

/** Does the work while another transaction is open that may see every row that the work deletes. */
async function whileRetained(work: () => Promise<void>): Promise<void> {
  await harness.ctx.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (held) => {
      await sql`select from webhook limit 1`.execute(held)
      await work()
    })
}

/** Counts the entries of an index that the work reads, dead ones included. */
async function entriesRead(index: string, work: (tx: Tx) => Promise<unknown>): Promise<number> {
  return inTx(harness.ctx, async (tx) => {
    const count = async (): Promise<number> => {
      const { rows } = await sql<{ read: number }>`
        select pg_stat_get_xact_tuples_returned(${index}::regclass)::int as read
      `.execute(tx)
      return rows[0]?.read ?? NaN
    }
    const before = await count()
    await work(tx)
    return (await count()) - before
  })
}

/** Counts the pages that a look-up of the lanes by their keys reads. */
function lanePagesRead(): Promise<number> {
  return inTx(harness.ctx, async (tx) => {
    await sql`set local enable_seqscan = off`.execute(tx)
    const count = async (): Promise<number> => {
      const { rows } = await sql<{ read: number }>`
        select (pg_stat_get_xact_blocks_fetched('webhook_lane'::regclass)
          + pg_stat_get_xact_blocks_fetched('webhook_lane_pkey'::regclass))::int as read
      `.execute(tx)
      return rows[0]?.read ?? NaN
    }
    const { rows: keys } = await sql<LaneKey>`select org_id, id as webhook_id from webhook`.execute(tx)
    const before = await count()
    await lockLanes(tx, keys)
    return (await count()) - before
  })
}

/** A webhook whose messages are added and deleted as its deliveries do it. */
async function addLane() {
  const { ctx, scope } = harness
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
  const lane = { orgId: scope.orgId, webhookId }
  return {
    lane,
    add: async (count: number): Promise<string[]> => {
      const message = { ...lane, topic: 'audits', body: Buffer.from('{}'), eventCount: 1, orderKey: null }
      const added = Array.from({ length: count }, () => ({ ...message, id: uuidv7() }))
      await inTx(ctx, (tx) => enqueueMessages(tx, added, clock.now()))
      return added.map(({ id }) => id)
    },
    remove: async (ids: readonly string[]): Promise<void> => {
      await inTx(ctx, async (tx) => {
        await lockLanes(tx, [lane])
        const deleted = await deleteMessages(tx, ids)
        await updateHeldLanes(tx, [{ ...lane, messages: deleted.length, addedFrom: null }], [])
      })
    },
    /** @returns The number of claimed messages. */
    claim: async (tx: Tx): Promise<number> => {
      const { lanes } = await claimLanes(tx, laneClaim(clock))
      await endLeases(
        tx,
        lanes.map(({ orgId, webhookId, epoch }) => ({ orgId, webhookId, epoch })),
      )
      return lanes.flatMap(({ messages }) => messages).length
    },
  }
}

it('claims read the messages that wait and not the deleted ones that an open transaction retains', async () => {
  const { lane, add, remove, claim } = await addLane()
  await whileRetained(async () => {
    await remove(await add(GONE))
    clock.advance(1000)
    await add(10)
    const read = await entriesRead('webhook_message_due', async (tx) => {
      expect(await claim(tx)).toBe(10)
      await rescheduleLane(tx, lane)
    })
    expect(read).toBeGreaterThanOrEqual(10)
    expect(read).toBeLessThan(FEW)
    expect(await countBrokenLanes(harness)).toBe(0)
  })
})

it('a lane that never becomes empty is claimed from the first message of the last claim', async () => {
  const { lane, add, remove, claim } = await addLane()
  await whileRetained(async () => {
    const former = await add(GONE)
    clock.advance(1000)
    await add(10)
    await remove(former)
    // This claim finds where the others begin.
    await inTx(harness.ctx, claim)
    const read = await entriesRead('webhook_message_due', async (tx) => {
      expect(await claim(tx)).toBe(10)
      await rescheduleLane(tx, lane)
    })
    expect(read).toBeLessThan(FEW)
    expect(await countBrokenLanes(harness)).toBe(0)
  })
})

it('searches of the outbox begin with the first event that the last search has found', async () => {
  const { ctx, scope } = harness
  const { orgId } = scope
  await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
  const addEvents = async (count: number): Promise<string[]> => {
    const event = { id: '', timestamp: 0, org_id: orgId, message: '', admin_id: null, admin_name: '', src_ip: '' }
    const audit = { ...event, user_agent: null }
    const events = Array.from({ length: count }, () => ({
      orgId,
      siteId: null,
      topic: 'audits' as const,
      event: audit,
    }))
    await inTx(ctx, (tx) => insertOutbox(tx, events, clock.now()))
    const rows = await ctx.db.selectFrom('webhookOutbox').select('id').orderBy('id').execute()
    return rows.map(({ id }) => id)
  }
  await whileRetained(async () => {
    const gone = await addEvents(GONE)
    await inTx(ctx, (tx) => deleteEvents(tx, gone))
    const [first = ''] = await addEvents(5)
    const search = { after: firstKey, limit: 200, now: clock.now(), events: 1000, turn: 1, exceptIds: [] }
    const found: number[] = []
    const read = (fromId: string) =>
      entriesRead('webhook_outbox_queue', async (tx) => {
        const { queues, waiting } = await findQueues(tx, { ...search, fromId })
        expect(queues).toMatchObject([{ orgId, firstId: first }])
        found.push(waiting.flatMap(({ events }) => events).length)
      })
    const whole = await read(lowestId)
    // It reads what is gone only once, to find the first event of the queue.
    expect(whole).toBeLessThan(1.5 * GONE)
    expect(await read(first)).toBeLessThan(FEW)
    expect(found).toEqual([5, 5])
  })
})

it('delivers everything once while a transaction is open', async () => {
  // Two webhooks, so that the events are routed.
  const hook = { url: receiver.url, topics: ['audits'], single_event_per_message: true }
  for (let webhook = 0; webhook < 2; webhook += 1) await harness.addWebhook(hook)
  await harness.start()
  const sent: string[] = []
  await whileRetained(async () => {
    for (let wave = 0; wave < 10; wave += 1) {
      for (let event = 0; event < 20; event += 1) {
        sent.push(`${wave} ${event}`)
        await harness.audit(`${wave} ${event}`)
      }
      await receiver.waitFor(2 * sent.length)
      await waitUntil('the results are written', async () => (await harness.waiting()).messages === 0)
      expect(await countBrokenLanes(harness)).toBe(0)
      clock.advance(5000)
    }
  })
  const got = receiver.received.map(({ events }) => String(events[0]?.['message']))
  expect([...new Set(got)].toSorted()).toEqual(sent.toSorted())
  expect(got).toHaveLength(2 * sent.length)
}, 60_000)

it('look-ups of lanes whose events are routed read no more pages after hundreds of messages', async () => {
  // Two webhooks, so that the events are routed.
  const hook = { url: receiver.url, topics: ['audits'], single_event_per_message: true }
  for (let webhook = 0; webhook < 2; webhook += 1) await harness.addWebhook(hook)
  await harness.start()
  let sent = 0
  async function sendWaves(waves: number): Promise<void> {
    for (let wave = 0; wave < waves; wave += 1) {
      for (let event = 0; event < 5; event += 1) await harness.audit(`${(sent += 1)}`)
      await receiver.waitFor(2 * sent)
    }
  }
  await whileRetained(async () => {
    await sendWaves(5)
    const early = await lanePagesRead()
    await sendWaves(60)
    expect(await lanePagesRead()).toBeLessThanOrEqual(early + 2)
  })
  await waitUntil('the results are written', async () => (await harness.waiting()).pending === 0)
  expect(await countOvercountedLanes(harness)).toBe(0)
}, 60_000)

it('look-ups of lanes that fall behind read few more pages after hundreds of messages', async () => {
  const { ctx } = harness
  const hook = { url: receiver.url, topics: ['audits'], single_event_per_message: true }
  for (let webhook = 0; webhook < 2; webhook += 1) await harness.addWebhook(hook)
  const laneClock = createLaneClock()
  // On a busy machine the lanes are held, and the requests hang, for as long as the test needs.
  await harness.start({ ...laneClock.options, timeoutMs: 600_000 })
  const routed = async (): Promise<boolean> =>
    (await ctx.db.selectFrom('webhookOutbox').select('id').executeTakeFirst()) === undefined
  const silent: ServerResponse[] = []
  receiver.answer((_request, response) => silent.push(response))
  await whileRetained(async () => {
    const early = await lanePagesRead()
    for (let event = 0; event < BEHIND; event += 1) {
      await harness.audit(`${event}`)
      await waitUntil('the event is routed', routed)
    }
    expect(await countBrokenLanes(harness)).toBe(0)
    expect((await harness.waiting()).messages).toBe(2 * BEHIND)
    expect(await lanePagesRead()).toBeLessThanOrEqual(early + 2)
    receiver.answer((_request, response) => response.end())
    for (const response of silent) response.end()
    await receiver.waitFor(2 * BEHIND)
  })
  await waitUntil('the results are written', async () => {
    laneClock.advance(100)
    return (await harness.waiting()).pending === 0
  })
  expect(receiver.received).toHaveLength(2 * BEHIND)
  expect(await countOvercountedLanes(harness)).toBe(0)
}, 60_000)
