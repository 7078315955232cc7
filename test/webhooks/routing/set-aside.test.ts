import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { insertOutbox } from '../../../src/events/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { MAX_EVENT_BYTES } from '../../../src/webhooks/routing/planning/plan-round.ts'
import { readWebhookSamples } from '../../../src/webhooks/metrics/store.ts'
import { lockWebhookAndLane } from '../../../src/webhooks/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'
import { addEvent, messagesOf, outbox, startRouter, url } from './router.ts'

/** The notes of an event that is too large for a message. */
const tooLong = 'n'.repeat(MAX_EVENT_BYTES / 2)
const clock = createTestClock()
let harness: Harness
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

/** The numbers of `signalbox_webhook_events_unrouted` by their label. */
async function unrouted(): Promise<Record<string, number>> {
  const samples = await readWebhookSamples(harness.ctx.db)
  const of = samples.filter(({ metric }) => metric.name === 'signalbox_webhook_events_unrouted')
  return Object.fromEntries(of.map(({ labels, value }) => [labels['set_aside'], value]))
}

it('sets aside an event that is too large for a message, logs it, and routes the others', async () => {
  const { scope } = harness
  await harness.addWebhook({ url, topics: ['audits'] })
  await addEvent(harness, scope, 'first')
  await addEvent(harness, scope, tooLong)
  await addEvent(harness, scope, 'last')
  expect(await unrouted()).toEqual({ false: 3, true: 0 })
  const counters = startRouter(harness)
  await waitUntil('the others are routed', async () => (await outbox(harness)).length === 1)
  expect(await outbox(harness)).toMatchObject([
    { topic: 'audits', setAsideAt: clock.now(), setAsideReason: expect.stringMatching(/^The event has \d+ bytes/) },
  ])
  const { rows } = await sql<{ body: string }>`select convert_from(body, 'UTF8') as body from webhook_message`.execute(
    harness.ctx.db,
  )
  expect(rows.map(({ body }) => JSON.parse(body).events.map((event: { after: unknown }) => event.after))).toEqual([
    [{ notes: 'first' }, { notes: 'last' }],
  ])
  expect(counters.read().events_set_aside).toBe(1)
  expect(await unrouted()).toEqual({ false: 0, true: 1 })
})

it('reports events that it sets aside once a day to the organization and to each site that they concern', async () => {
  const sites = [await harness.addSite('Depot'), await harness.addSite('Office')]
  await harness.addWebhook({ url, topics: ['audits'] })
  for (const siteId of [null, ...sites, ...sites]) await addEvent(harness, harness.scope, tooLong, siteId)
  startRouter(harness)
  const isDone = async () => (await outbox(harness)).every(({ setAsideAt }) => setAsideAt !== null)
  await waitUntil('all are set aside', isDone, 60_000)
  const events = await harness.ctx.db.selectFrom('systemEvent').select(['type', 'siteId']).execute()
  expect(events).toHaveLength(3)
  for (const siteId of [null, ...sites]) expect(events).toContainEqual({ type: 'WEBHOOK_EVENT_SET_ASIDE', siteId })
  const alarms = await harness.ctx.db.selectFrom('alarm').select(['type', 'siteId']).execute()
  expect(alarms).toHaveLength(3)
  for (const siteId of [null, ...sites]) expect(alarms).toContainEqual({ type: 'webhook_event_set_aside', siteId })
}, 90_000)

it('sets aside the one event that the database refuses, and routes all others in order', async () => {
  const { scope } = harness
  await harness.addWebhook({ url, topics: ['audits'], single_event_per_message: true })
  await sql`alter table webhook_message add check (position('poison' in convert_from(body, 'UTF8')) = 0)`.execute(
    harness.ctx.db,
  )
  const notes = Array.from({ length: 40 }, (_, index) => (index === 29 ? 'poison' : `note ${index}`))
  for (const note of notes) await addEvent(harness, scope, note)
  const counters = startRouter(harness)
  await waitUntil('only one is left', async () => (await outbox(harness)).length === 1)
  expect(await outbox(harness)).toMatchObject([{ setAsideReason: expect.stringMatching(/violates check constraint/) }])
  const { rows } = await sql<{ body: string }>`
    select convert_from(body, 'UTF8') as body from webhook_message order by due_at, id
  `.execute(harness.ctx.db)
  expect(rows.map(({ body }) => JSON.parse(body).events[0].after.notes)).toEqual(
    notes.filter((note) => note !== 'poison'),
  )
  expect(counters.read().events_set_aside).toBe(1)
})

it('routes a long backlog in order, although one of its events is refused', async () => {
  const { scope, ctx } = harness
  const { id } = await harness.addWebhook({ url, topics: ['audits'], single_event_per_message: true })
  await sql`alter table webhook_message add check (position('poison' in convert_from(body, 'UTF8')) = 0)`.execute(
    ctx.db,
  )
  const counters = startRouter(harness)
  await addEvent(harness, scope, 'first')
  await waitUntil('the router knows of every event', async () => (await messagesOf(harness, scope)).count === 1)
  const at = clock.now()
  const numbers = Array.from({ length: 4000 }, (_, index) => index)
  const common = { org_id: scope.orgId, timestamp: 0, admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const events = numbers.map((number) => ({
    orgId: scope.orgId,
    siteId: null,
    topic: 'audits' as const,
    event: { ...common, id: uuidv7(), message: number === 2345 ? 'poison' : String(number) },
  }))
  await inTx(ctx, (tx) => insertOutbox(tx, events, at))
  // A round is left for later, while the one behind it may have been read.
  await inTx(ctx, async (tx) => {
    await lockWebhookAndLane(tx, scope, id)
    const { count } = await messagesOf(harness, scope)
    for (let read = 0; read < 20; read += 1) expect((await messagesOf(harness, scope)).count).toBe(count)
  })
  await waitUntil('only one is left', async () => (await outbox(harness)).length === 1, 60_000)
  const { rows } = await sql<{ body: string }>`
    select convert_from(body, 'UTF8') as body from webhook_message order by due_at, id
  `.execute(ctx.db)
  expect(rows.slice(1).map(({ body }) => Number(JSON.parse(body).events[0].message))).toEqual(
    numbers.filter((number) => number !== 2345),
  )
  expect(counters.read().events_set_aside).toBe(1)
}, 90_000)
