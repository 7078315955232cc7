import { sql } from 'kysely'
import { UUID, uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { insertOutbox } from '../../../src/events/store.ts'
import { inTx, json } from '../../../src/platform/database/db.ts'
import { wakeAfterCommit } from '../../../src/platform/database/wakes.ts'
import { routeMessages } from '../../../src/webhooks/routing/store-routed.ts'
import { findQueues, firstKey, lowestId } from '../../../src/webhooks/routing/store.ts'
import { lockWebhookAndLane } from '../../../src/webhooks/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'
import { addEvent, messagesOf, outbox, rounds, startRouter, url } from './router.ts'

const clock = createTestClock()
let harness: Harness
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

it('routes an event of 2 MB to many webhooks in small rounds, while other organizations do not wait for it', async () => {
  const { scope } = harness
  const webhooks = 20
  for (let index = 0; index < webhooks; index += 1) await harness.addWebhook({ url, topics: ['audits'] })
  const other = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, other)
  const notes = 'n'.repeat(1_000_000)
  await addEvent(harness, scope, notes)
  await addEvent(harness, other, 'short')
  startRouter(harness)
  await waitUntil('every webhook has its message', async () => (await outbox(harness)).length === 0, 60_000)
  const { count, bytes } = await messagesOf(harness, scope)
  expect(count).toBe(webhooks)
  expect(bytes).toBeGreaterThan(webhooks * 2 * notes.length)
  const written = await rounds(harness)
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
  startRouter(harness)
  await inTx(harness.ctx, async (tx) => {
    await lockWebhookAndLane(tx, scope, id)
    for (const org of [scope, other]) await addEvent(harness, org, 'short')
    await waitUntil('the other one is routed', async () => (await messagesOf(harness, other)).count === 1)
    expect(await outbox(harness)).toMatchObject([{ orgId: scope.orgId, routedTo: null }])
    expect((await messagesOf(harness, scope)).count).toBe(0)
  })
  await waitUntil('both webhooks have their message', async () => (await messagesOf(harness, scope)).count === 2)
  expect(await outbox(harness)).toEqual([])
  expect(await harness.waiting()).toEqual({ messages: 3, pending: 3 })
})

it('routes the events beside a backlog in a round of their own, before it', async () => {
  const { scope, ctx } = harness
  const other = await harness.addOrg()
  for (const org of [scope, other]) await harness.addWebhook({ url, topics: ['audits'] }, null, org)
  startRouter(harness)
  await addEvent(harness, scope, 'first')
  await waitUntil('a round has taken some time', async () => (await messagesOf(harness, scope)).count === 1)
  const common = { timestamp: 0, admin_id: null, admin_name: 'Ada', message: '', src_ip: '', user_agent: null }
  const eventOf = ({ orgId }: OrgScope) => ({
    orgId,
    siteId: null,
    topic: 'audits' as const,
    event: { ...common, id: uuidv7(), org_id: orgId },
  })
  const events = Array.from({ length: 1000 }, () => eventOf(scope))
  await inTx(ctx, (tx) => insertOutbox(tx, [...events, eventOf(other), eventOf(other)], clock.now()))
  await waitUntil('everything routed', async () => (await outbox(harness)).length === 0)
  const [, second, ...later] = await rounds(harness)
  expect(second?.orgs).toEqual([other.orgId])
  expect(later.length).toBeGreaterThan(1)
  expect(later.filter(({ orgs }) => orgs.join() !== scope.orgId)).toEqual([])
})

it('leaves an event alone that another transaction changes, and routes it when that transaction is rolled back', async () => {
  const { scope } = harness
  await harness.addWebhook({ url, topics: ['audits'] })
  const other = await harness.addOrg()
  await harness.addWebhook({ url, topics: ['audits'] }, null, other)
  await addEvent(harness, scope, 'changed')
  const deletion = inTx(harness.ctx, async (tx) => {
    await tx.deleteFrom('webhookOutbox').where('orgId', '=', scope.orgId).execute()
    startRouter(harness)
    await addEvent(harness, other, 'free')
    await waitUntil('the other one is routed', async () => (await messagesOf(harness, other)).count === 1)
    expect((await messagesOf(harness, scope)).count).toBe(0)
    throw new Error('rolled back')
  })
  await expect(deletion).rejects.toThrow('rolled back')
  await waitUntil('it is routed', async () => (await messagesOf(harness, scope)).count === 1)
  expect(await outbox(harness)).toEqual([])
})

it('leaves an event alone of which another router has routed a part since it was read', async () => {
  const { ctx, scope } = harness
  const { orgId } = scope
  const { id: webhookId } = await harness.addWebhook({ url, topics: ['audits'] })
  await addEvent(harness, scope, 'routed')
  const { id } = await ctx.db.selectFrom('webhookOutbox').select('id').executeTakeFirstOrThrow()
  await ctx.db.updateTable('webhookOutbox').set({ routedTo: webhookId }).execute()
  const body = Buffer.from('{}')
  const message = { orgId, id: uuidv7(), webhookId, topic: 'audits', body, eventCount: 1, orderKey: null }
  const steps = [{ orgId, id, routedBefore: null, routedTo: null }]
  const rooms = new Map([[webhookId, { shared: 1, perWebhook: 0 }]])
  const options = { at: clock.now(), lease: null, vtimeFloor: 0, maxPending: 100 }
  const routed = await routeMessages(ctx.db, { steps, messages: [message], dropped: [], rooms }, options)
  expect(routed.busyOrgIds).toEqual(new Set([orgId]))
  expect((await messagesOf(harness, scope)).count).toBe(0)
  expect(await outbox(harness)).toMatchObject([{ routedTo: webhookId }])
})

it('serves every queue of a page in turn, however many pages a search has', async () => {
  // They fill a page, so that a search needs a second one.
  const [queues, backlog] = [200, 150]
  await sql`
    with orgs as (
      insert into org (id, name, doc, created_at, modified_at)
      select gen_random_uuid(), 'Org', doc, created_at, modified_at from org cross join generate_series(1, ${queues}::integer)
      returning id
    ), hook as (
      insert into webhook (id, org_id, enabled, topics, doc, created_at, modified_at)
      select gen_random_uuid(), id, true, '{audits}', '{}', ${clock.now()}, ${clock.now()} from orgs
      returning org_id, id
    ), lane as (
      insert into webhook_lane (org_id, webhook_id) select org_id, id from hook
    )
    insert into webhook_outbox (id, org_id, topic, event, created_at)
    select gen_random_uuid(), id, 'audits', '{"message": "of the backlog"}', ${clock.now()}
    from orgs cross join generate_series(1, ${backlog}::integer)
  `.execute(harness.ctx.db)
  startRouter(harness)
  await waitUntil('everything routed', async () => (await outbox(harness)).length === 0, 90_000)
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
    const { waiting, more } = await findQueues(db, { ...search, turn })
    expect(more).not.toEqual([])
    // The queue with few events waits for none of the others.
    expect(waiting).toHaveLength(11)
    for (const { events } of waiting) served.set(events[0]?.orgId ?? '', events.length)
  }
  expect([served.size, served.get(few.orgId)]).toEqual([queues + 1, 3])
  startRouter(harness)
  await waitUntil('everything routed', async () => (await outbox(harness)).length === 0)
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
  startRouter(harness)
  const routed = async (count: number): Promise<void> => {
    await addEvent(harness, scope, 'short')
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
  await waitUntil('both are routed', async () => (await outbox(harness)).length === 0)
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
    for (const org of [harness.scope, other]) await addEvent(harness, org, 'short')
    // The rounds that leave the event charge nothing.
    await waitUntil('the other one is routed', async () => (await messagesOf(harness, other)).count === 1)
    expect(charged).toEqual([])
  })
  // The round reports it once it has committed.
  await waitUntil('all are routed and reported', () => charged.length > 0)
  expect(await outbox(harness)).toEqual([])
  expect(charged).toEqual([[harness.scope.orgId, 1]])
})
