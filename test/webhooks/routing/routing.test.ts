import { sql } from 'kysely'
import { UUID, uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { insertOutbox } from '../../../src/events/store.ts'
import type { TopicEvents } from '../../../src/events/topics.ts'
import { inTx, json } from '../../../src/platform/database/db.ts'
import { wakeAfterCommit } from '../../../src/platform/database/wakes.ts'
import { MAX_EVENT_BYTES } from '../../../src/webhooks/routing/plan-round.ts'
import { startRouteWorker } from '../../../src/webhooks/routing/route.worker.ts'
import { findQueues, firstKey, lowestId } from '../../../src/webhooks/routing/store.ts'
import { lockWebhookAndLane } from '../../../src/webhooks/store.ts'
import { createWebhookCounters } from '../../../src/webhooks/counters.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'
import { createTestClock } from '../../support/test-clock.ts'

const url = 'http://127.0.0.1:1/'
/** The notes of an event that is too large for a message. */
const tooLong = 'n'.repeat(MAX_EVENT_BYTES / 2)
const clock = createTestClock()
let harness: Harness
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(async () => {
  for (const worker of running.splice(0)) await worker.stop()
  await harness.close()
})

function startRouter(): ReturnType<typeof createWebhookCounters> {
  const counters = createWebhookCounters()
  running.push(startRouteWorker(harness.ctx, counters))
  return counters
}

/** Commits an event that contains its notes twice. */
async function addEvent({ orgId }: OrgScope, notes: string, siteId: string | null = null): Promise<void> {
  const at = clock.now()
  const event: TopicEvents['audits'] = {
    id: uuidv7(),
    timestamp: at.getTime() / 1000,
    org_id: orgId,
    admin_id: null,
    admin_name: 'Ada',
    message: 'Update Site',
    src_ip: '',
    user_agent: null,
    before: { notes },
    after: { notes },
  }
  await inTx(harness.ctx, (tx) => insertOutbox(tx, [{ orgId, siteId, topic: 'audits', event }], at))
}

async function messagesOf({ orgId }: OrgScope): Promise<{ count: number; bytes: number }> {
  const { rows } = await sql<{ count: number; bytes: number }>`
    select count(*)::int as count, coalesce(sum(octet_length(body)), 0)::int as bytes
    from webhook_message where org_id = ${orgId}
  `.execute(harness.ctx.db)
  return rows[0] ?? { count: 0, bytes: 0 }
}

const outbox = () =>
  harness.ctx.db
    .selectFrom('webhookOutbox')
    .select(['orgId', 'topic', 'setAsideAt', 'setAsideReason', 'routedTo'])
    .orderBy('id')
    .execute()

/** Returns the writes of each transaction of the router, in order. */
async function rounds(): Promise<readonly { readonly orgs: readonly string[]; readonly bytes: number }[]> {
  const { rows } = await sql<{ orgs: string[]; bytes: number }>`
    select array_agg(distinct org_id::text) as orgs, sum(octet_length(body))::int as bytes
    from webhook_message group by xmin::text::bigint order by xmin::text::bigint
  `.execute(harness.ctx.db)
  return rows
}

it('routes an event of 2 MB to many webhooks in small rounds, while other organizations do not wait for it', async () => {
  const { scope } = harness
  const webhooks = 20
  for (let index = 0; index < webhooks; index += 1) await harness.addWebhook({ url, topics: ['audits'] })
  const other = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, other)
  const notes = 'n'.repeat(1_000_000)
  await addEvent(scope, notes)
  await addEvent(other, 'short')
  startRouter()
  await waitUntil('every webhook has its message', async () => (await outbox()).length === 0, 60_000)
  const { count, bytes } = await messagesOf(scope)
  expect(count).toBe(webhooks)
  expect(bytes).toBeGreaterThan(webhooks * 2 * notes.length)
  const written = await rounds()
  expect(written.findIndex(({ orgs }) => orgs.includes(other.orgId))).toBe(0)
  expect(Math.max(...written.map((round) => round.bytes))).toBeLessThan(4.1 * 1024 * 1024)
  expect(await harness.waiting()).toEqual({ messages: webhooks + 1, pending: webhooks + 1 })
}, 90_000)

it('leaves the events of an organization alone while one of its webhooks is locked, and routes those of others', async () => {
  const { scope } = harness
  const { id } = await harness.addWebhook({ url, topics: ['audits'] })
  await harness.addWebhook({ url, topics: ['audits'] })
  const other = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, other)
  startRouter()
  await inTx(harness.ctx, async (tx) => {
    await lockWebhookAndLane(tx, scope, id)
    for (const of of [scope, other]) await addEvent(of, 'short')
    await waitUntil('the other one is routed', async () => (await messagesOf(other)).count === 1)
    expect(await outbox()).toMatchObject([{ orgId: scope.orgId, routedTo: null }])
    expect((await messagesOf(scope)).count).toBe(0)
  })
  await waitUntil('both webhooks have their message', async () => (await messagesOf(scope)).count === 2)
  expect(await outbox()).toEqual([])
  expect(await harness.waiting()).toEqual({ messages: 3, pending: 3 })
})

it('sets aside an event that is too large for a message, logs it, and routes the others', async () => {
  const { scope } = harness
  await harness.addWebhook({ url, topics: ['audits'] })
  await addEvent(scope, 'first')
  await addEvent(scope, tooLong)
  await addEvent(scope, 'last')
  const counters = startRouter()
  await waitUntil('the others are routed', async () => (await outbox()).length === 1)
  expect(await outbox()).toMatchObject([
    { topic: 'audits', setAsideAt: clock.now(), setAsideReason: expect.stringMatching(/^The event has \d+ bytes/) },
  ])
  const { rows } = await sql<{ body: string }>`select convert_from(body, 'UTF8') as body from webhook_message`.execute(
    harness.ctx.db,
  )
  expect(rows.map(({ body }) => JSON.parse(body).events.map((event: { after: unknown }) => event.after))).toEqual([
    [{ notes: 'first' }, { notes: 'last' }],
  ])
  expect(counters.read().events_set_aside).toBe(1)
})

it('reports events that it sets aside once a day to the organization and to each site that they concern', async () => {
  const sites = [await harness.addSite('Depot'), await harness.addSite('Office')]
  await harness.addWebhook({ url, topics: ['audits'] })
  for (const siteId of [null, ...sites, ...sites]) await addEvent(harness.scope, tooLong, siteId)
  startRouter()
  const isDone = async () => (await outbox()).every(({ setAsideAt }) => setAsideAt !== null)
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
  for (const note of notes) await addEvent(scope, note)
  const counters = startRouter()
  await waitUntil('only one is left', async () => (await outbox()).length === 1)
  expect(await outbox()).toMatchObject([{ setAsideReason: expect.stringMatching(/violates check constraint/) }])
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
  const counters = startRouter()
  await addEvent(scope, 'first')
  await waitUntil('the router knows of every event', async () => (await messagesOf(scope)).count === 1)
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
    const { count } = await messagesOf(scope)
    for (let read = 0; read < 20; read += 1) expect((await messagesOf(scope)).count).toBe(count)
  })
  await waitUntil('only one is left', async () => (await outbox()).length === 1, 60_000)
  const { rows } = await sql<{ body: string }>`
    select convert_from(body, 'UTF8') as body from webhook_message order by due_at, id
  `.execute(ctx.db)
  expect(rows.slice(1).map(({ body }) => Number(JSON.parse(body).events[0].message))).toEqual(
    numbers.filter((number) => number !== 2345),
  )
  expect(counters.read().events_set_aside).toBe(1)
}, 90_000)

it('routes the events beside a backlog in a round of their own, before it', async () => {
  const { scope, ctx } = harness
  const other = await harness.addOrg()
  for (const of of [scope, other]) await harness.addWebhook({ url, topics: ['audits'] }, null, of)
  startRouter()
  await addEvent(scope, 'first')
  await waitUntil('a round has taken some time', async () => (await messagesOf(scope)).count === 1)
  const common = { timestamp: 0, admin_id: null, admin_name: 'Ada', message: '', src_ip: '', user_agent: null }
  const eventOf = ({ orgId }: OrgScope) => ({
    orgId,
    siteId: null,
    topic: 'audits' as const,
    event: { ...common, id: uuidv7(), org_id: orgId },
  })
  const events = Array.from({ length: 1000 }, () => eventOf(scope))
  await inTx(ctx, (tx) => insertOutbox(tx, [...events, eventOf(other), eventOf(other)], clock.now()))
  await waitUntil('everything routed', async () => (await outbox()).length === 0)
  const [, second, ...later] = await rounds()
  expect(second?.orgs).toEqual([other.orgId])
  expect(later.length).toBeGreaterThan(1)
  expect(later.filter(({ orgs }) => orgs.join() !== scope.orgId)).toEqual([])
})

it('inserts all events of a transaction or none, however many they are', async () => {
  const { scope, ctx } = harness
  const { orgId } = scope
  await harness.addWebhook({ url, topics: ['audits'] })
  await sql`alter table webhook_outbox add check (event ->> 'message' <> 'refused')`.execute(ctx.db)
  const common = { org_id: orgId, timestamp: 0, admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const insert = (messages: readonly string[]) => {
    const event = (message: string) => ({ ...common, id: uuidv7(), message })
    const events = messages.map((message) => ({ orgId, siteId: null, topic: 'audits' as const, event: event(message) }))
    return inTx(ctx, (tx) => insertOutbox(tx, events, clock.now()))
  }
  const messages = Array.from({ length: 3500 }, (_, index) => String(index))
  for (const place of [10, 1500, 3499]) {
    await expect(insert(messages.with(place, 'refused'))).rejects.toThrow(/check constraint/)
    expect(await outbox()).toEqual([])
  }
  await insert(messages)
  const { rows } = await sql<{ message: string }>`
    select event ->> 'message' as message from webhook_outbox order by id`.execute(ctx.db)
  expect(rows.map(({ message }) => message)).toEqual(messages)
}, 60_000)

it('reports an event that can not be encoded while others are inserted, and inserts none', async () => {
  const { scope, ctx } = harness
  const { orgId } = scope
  await harness.addWebhook({ url, topics: ['audits'] })
  const common = { org_id: orgId, timestamp: 0, admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const faulty = { ...common, id: uuidv7(), message: '' }
  let encodings = 0
  Object.defineProperty(faulty, 'toJSON', {
    value: () => {
      encodings += 1
      // The first one measures its length.
      if (encodings > 1) throw new Error('not encoded')
      return {}
    },
  })
  const events = Array.from({ length: 1500 }, () => ({ ...common, id: uuidv7(), message: '' })).with(1400, faulty)
  const rows = events.map((event) => ({ orgId, siteId: null, topic: 'audits' as const, event }))
  await expect(inTx(ctx, (tx) => insertOutbox(tx, rows, clock.now()))).rejects.toThrow('not encoded')
  expect(await outbox()).toEqual([])
})

it('never writes an event that no enabled webhook of its place and topic hears', async () => {
  const site = await harness.addSite('Heard')
  const other = await harness.addSite('Unheard')
  await addEvent(harness.scope, 'no webhook', site)
  await harness.addWebhook({ url, topics: ['alarms'] })
  await harness.addWebhook({ url, topics: ['audits'], enabled: false })
  await harness.addWebhook({ url, topics: ['audits'] }, site)
  await addEvent(harness.scope, 'another site', other)
  await addEvent(harness.scope, 'the organization')
  await addEvent(await harness.addOrg(), 'another organization')
  expect(await outbox()).toEqual([])
  await addEvent(harness.scope, 'its site', site)
  await harness.addWebhook({ url, topics: ['audits'] })
  for (const siteId of [null, site, other]) await addEvent(harness.scope, 'everywhere', siteId)
  expect(await outbox()).toHaveLength(3)
})

it('serves every queue of a page in turn, however many pages a search has', async () => {
  // They fill a page, so that a search needs a second one.
  const [queues, backlog] = [200, 150]
  await sql`
    with orgs as (
      insert into org (id, name, doc, created_at, modified_at)
      select gen_random_uuid(), 'Org', doc, created_at, modified_at from org cross join generate_series(1, ${queues}::integer)
      returning id
    ), hearing as (
      insert into webhook (id, org_id, enabled, topics, doc, created_at, modified_at)
      select gen_random_uuid(), id, true, '{audits}', '{}', ${clock.now()}, ${clock.now()} from orgs
      returning org_id, id
    ), lane as (
      insert into webhook_lane (org_id, webhook_id) select org_id, id from hearing
    )
    insert into webhook_outbox (id, org_id, topic, event, created_at)
    select gen_random_uuid(), id, 'audits', '{"message": "of the backlog"}', ${clock.now()}
    from orgs cross join generate_series(1, ${backlog}::integer)
  `.execute(harness.ctx.db)
  startRouter()
  await waitUntil('everything routed', async () => (await outbox()).length === 0, 90_000)
  const messages = await harness.ctx.db
    .selectFrom('webhookMessage')
    .select(['webhookId', 'eventCount'])
    .orderBy('id')
    .execute()
  // Each queue has its first message before any has its second one.
  expect(new Set(messages.slice(0, queues).map(({ webhookId }) => webhookId)).size).toBe(queues)
  expect(new Set(messages.slice(0, queues).map(({ eventCount }) => eventCount))).toEqual(new Set([100]))
  expect(messages).toHaveLength(2 * queues)
}, 120_000)

it('fills the messages of webhooks that gather events when many of them have a backlog', async () => {
  const [queues, backlog] = [40, 250]
  const scopes = await Promise.all(Array.from({ length: queues }, () => harness.addOrg()))
  for (const scope of scopes) await harness.addWebhook({ url, topics: ['audits'] }, null, scope)
  const few = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, few)
  const { db } = harness.ctx
  const fill = (of: readonly OrgScope[], events: number) =>
    sql`
      insert into webhook_outbox (id, org_id, topic, event, created_at)
      select gen_random_uuid(), org_id, 'audits', '{"message": "of the backlog"}', ${clock.now()}
      from unnest(${of.map(({ orgId }) => orgId)}::uuid[]) org_id cross join generate_series(1, ${events}::integer)
    `.execute(db)
  await fill(scopes, backlog)
  await fill([few], 3)
  const search = { after: firstKey, fromId: lowestId, limit: 200, now: clock.now(), events: 1000, exceptIds: [] }
  const served = new Map<string, number>()
  for (let turn = 1; turn <= queues / 10; turn += 1) {
    const { waiting, hasMore } = await findQueues(db, { ...search, turn })
    expect(hasMore).toBe(true)
    // The queue with few events waits for none of the others.
    expect(waiting).toHaveLength(11)
    for (const { events } of waiting) served.set(events[0]?.orgId ?? '', events.length)
  }
  expect([served.size, served.get(few.orgId)]).toEqual([queues + 1, 3])
  startRouter()
  await waitUntil('everything routed', async () => (await outbox()).length === 0)
  const { rows } = await sql<{ counts: number[] }>`
    select array_agg(event_count order by event_count) as counts from webhook_message group by webhook_id
  `.execute(db)
  const counts = rows.map(({ counts }) => counts.join(' '))
  expect(counts.toSorted()).toEqual(['3', ...Array.from({ length: queues }, () => '50 100 100')].toSorted())
}, 60_000)

it('gathers a lingering event whose transaction took long with the later events of its queue', async () => {
  const { ctx, scope } = harness
  const { orgId } = scope
  await harness.addWebhook({ url, topics: ['audits', 'device-events'] })
  startRouter()
  const routed = async (count: number): Promise<void> => {
    await addEvent(scope, 'short')
    await waitUntil('a round has ended', async () => {
      const ended = await ctx.db.selectFrom('webhookMessage').select('id').where('topic', '=', 'audits').execute()
      return ended.length === count
    })
  }
  await routed(1)
  const id = UUID.fromFieldsV7(Date.now() - 60_000, 1, 1, 1).toString()
  await inTx(ctx, async (tx) => {
    const event = json({ device_name: 'late' })
    const late = { id, orgId, siteId: null, topic: 'device-events', event, createdAt: clock.now() }
    await tx.insertInto('webhookOutbox').values(late).execute()
    wakeAfterCommit(tx, 'outbox', [id])
  })
  await harness.deviceEvents(['next'])
  await routed(2)
  clock.advance(1000)
  await routed(3)
  await waitUntil('both are routed', async () => (await outbox()).length === 0)
  const { rows } = await sql<{ names: unknown }>`
    select jsonb_path_query_array(convert_from(body, 'UTF8')::jsonb, '$.events[*].device_name') as names
    from webhook_message where topic = 'device-events'
  `.execute(ctx.db)
  expect(rows).toEqual([{ names: ['late', 'next'] }])
})

it('reports what the database needs for many messages to the account that caused them', async () => {
  for (let index = 0; index < 9; index += 1) await harness.addWebhook({ url, topics: ['audits'] })
  const { id } = await harness.addWebhook({ url, topics: ['audits'] })
  const other = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, other)
  const charged: [account: string, databaseMs: number][] = []
  await harness.start({ charge: (...charge) => void charged.push(charge) })
  await inTx(harness.ctx, async (tx) => {
    await lockWebhookAndLane(tx, harness.scope, id)
    for (const of of [harness.scope, other]) await addEvent(of, 'short')
    // The rounds that leave the event charge nothing.
    await waitUntil('the other one is routed', async () => (await messagesOf(other)).count === 1)
    expect(charged).toEqual([])
  })
  await waitUntil('all are routed', async () => (await outbox()).length === 0)
  expect(charged).toEqual([[harness.scope.orgId, 1]])
})
