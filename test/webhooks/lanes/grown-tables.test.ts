import { sql } from 'kysely'
import { expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { appendAudit } from '../../../src/events/append.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { readsOf, reportReads } from '../../support/database/reads.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, status } from '../receiver.ts'

/** The webhooks of another organization that are added while the engine runs. */
const ADDED = 20_000
/** So many that the statements get a plan for any values, which PostgreSQL makes after the fifth execution. */
const EVENTS = 20
const WEBHOOKS = 2
/** The rows and entries of indexes that are read for an event, far fewer than those that were added. */
const FEW = 100

/** Rows of webhooks and lanes, and entries of their indexes. */
const ROWS = { tables: ['webhook', 'webhook_lane'], unit: 'tuples_returned' } as const

interface World {
  readonly clock: TestClock
  readonly harness: Harness
  readonly receiver: Receiver
  /** An organization whose webhooks are added while the engine runs. */
  readonly others: OrgScope
}

async function createWorld(): Promise<World> {
  const { clock, harness, receiver } = await startEngine(createTestClock())
  // Events of one webhook are not routed. The second gathers events, and counts attempts in place.
  await harness.addWebhook({ url: `${receiver.url}/1`, topics: ['audits'], single_event_per_message: true })
  await harness.addWebhook({ url: `${receiver.url}/2`, topics: ['audits'], order: 'webhook' })
  return { clock, harness, receiver, others: await harness.addOrg() }
}

/**
 * Adds webhooks with their lanes. PostgreSQL learns of them when it next analyzes the tables.
 * @param nextAt When the lanes are due; null for lanes without messages.
 */
async function addWebhooks({ harness, others }: World, nextAt: Date | null = null): Promise<void> {
  await inTx(harness.ctx, async (tx) => {
    await sql`
      with added as (
        insert into webhook (org_id, id, enabled, topics, doc, created_at, modified_at)
        select ${others.orgId}, gen_random_uuid(), true, '{alarms}', '{}', now(), now() from generate_series(1, ${ADDED}::integer)
        returning org_id, id)
      insert into webhook_lane (org_id, webhook_id, next_at) select org_id, id, ${nextAt}::timestamptz from added`.execute(
      tx,
    )
    await reportReads(tx)
  })
}

const analyze = ({ harness }: World) => sql`analyze webhook, webhook_lane`.execute(harness.ctx.db)

/** Commits events one by one, on connections that read no table as a whole: only the engine's reads are measured. */
async function commitEvents({ clock, harness }: World, count: number): Promise<void> {
  const { keyDb: db, wakes } = harness.ctx
  for (let event = 0; event < count; event += 1)
    await inTx({ db, wakes }, (tx) => appendAudit(tx, harness.scope, { message: `${event}`, at: clock.now() }))
}

/** Commits events, and waits until each webhook has got them. */
async function send(world: World): Promise<void> {
  const { clock, harness, receiver } = world
  const eventsAt = (path: string) =>
    receiver.received.filter((one) => one.path === path).flatMap(({ events }) => events).length
  const expected = ['/hook/1', '/hook/2'].map((path) => ({ path, events: eventsAt(path) + EVENTS }))
  await commitEvents(world, EVENTS)
  await waitUntil('each webhook has got the events', () => {
    clock.advance(1000)
    harness.wake()
    return expected.every(({ path, events }) => eventsAt(path) >= events)
  })
}

/** Has each webhook refuse an event at first, and then get it by a claim. */
async function sendAfterFailures(world: World): Promise<void> {
  const { clock, harness, receiver } = world
  const before = receiver.received.length
  receiver.answer(status(500))
  await commitEvents(world, 1)
  await waitUntil('both webhooks have refused the event', () => receiver.received.length >= before + WEBHOOKS)
  receiver.answer(status(200))
  await waitUntil('the results are written', async () => {
    clock.advance(10_000)
    harness.wake()
    return (await harness.ctx.db.selectFrom('webhookMessage').select('id').limit(1).execute()).length === 0
  })
}

async function sendAll(world: World): Promise<void> {
  await send(world)
  await sendAfterFailures(world)
}

/** What is known of the tables, and when the webhooks are added: while the engine runs, or before its start. */
const situations: Readonly<Record<string, (world: World) => Promise<void>>> = {
  'the tables were analyzed when the webhooks were few': async (world) => {
    await analyze(world)
    await world.harness.start()
    await sendAll(world)
    await addWebhooks(world)
  },
  'the tables were never analyzed': async (world) => {
    await world.harness.start()
    await sendAll(world)
    await addWebhooks(world)
  },
  'PostgreSQL knows the webhooks': async (world) => {
    await addWebhooks(world)
    await analyze(world)
    await world.harness.start()
    await sendAll(world)
  },
  'the webhooks have messages that are tried again later': async (world) => {
    await addWebhooks(world, addMs(world.clock.now(), 24 * 3600e3))
    await analyze(world)
    await world.harness.start()
    await sendAll(world)
  },
}

// Most of the time is waiting for reports of what was read, so the situations are tried side by side.
it('deliveries read few rows beside many new webhooks', { timeout: 60_000 }, async () => {
  const read = await Promise.all(
    Object.entries(situations).map(async ([situation, bringAbout]) => {
      const world = await createWorld()
      await bringAbout(world)
      return { situation, rows: await readsOf(world.harness.ctx.db, ROWS, () => sendAll(world)) }
    }),
  )
  expect(read).toHaveLength(4)
  expect(read.filter(({ rows }) => !(rows < EVENTS * WEBHOOKS * FEW))).toEqual([])
})
