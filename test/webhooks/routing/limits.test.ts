import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemScopeOf } from '../../../src/access/scope.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { OVERFLOWING_MS } from '../../../src/webhooks/health/decide-state.ts'
import { createWebhook } from '../../../src/webhooks/create-webhook.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { createOrgRooms } from '../../../src/webhooks/routing/org-rooms.ts'
import { replayMessages } from '../../../src/webhooks/replays/replay-messages.ts'
import { routeFound } from '../../../src/webhooks/routing/route-round.ts'
import { routeMessages } from '../../../src/webhooks/routing/store-routed.ts'
import { findActivity } from '../../../src/webhooks/health/store.ts'
import { findQueues, firstKey, lowestId } from '../../../src/webhooks/routing/store.ts'
import { sweepLanes } from '../../../src/webhooks/tasks.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Received, type Receiver, startReceiver, status } from '../receiver.ts'

const clock = createTestClock()
let harness: Harness
let down: Receiver
let up: Receiver
beforeEach(async () => {
  ;({ harness, receiver: up } = await startEngine(clock))
  down = await startReceiver()
  down.answer(status(500))
})
afterEach(() => down.kill())

const hook = (url: string) => ({ url, topics: ['audits'], single_event_per_message: true })
const limitsOf = (limits: Partial<typeof defaultWebhookLimits>) => ({ ...defaultWebhookLimits, ...limits })
const messagesOf = ({ events }: Received) => events.map(({ message }) => String(message))
const activityOf = (webhookId: string) => findActivity(harness.ctx.db, harness.scope, { webhookId, since: clock.now() })

/** Commits events one after the other. Each is routed, and its result at the receiver `up` written, before the next one. */
async function auditMany(names: readonly string[], of = harness.scope): Promise<void> {
  for (const name of names) {
    await harness.audit(name, null, of)
    await waitUntil('routed and delivered', async () => {
      const rows = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
      const waiting = await harness.ctx.db
        .selectFrom('webhookMessage')
        .innerJoin('webhook', 'webhook.id', 'webhookMessage.webhookId')
        .select(['webhook.doc'])
        .execute()
      return rows.length === 0 && waiting.every(({ doc }) => doc['url'] !== up.url)
    })
  }
}

describe('webhooks', () => {
  const create = (siteId: string | null, limits: Partial<typeof defaultWebhookLimits>) =>
    createWebhook(harness.ctx, systemScopeOf('operator', { orgId: harness.scope.orgId, siteId }), {
      body: hook(up.url),
      outbound: harness.outbound,
      limits: limitsOf(limits),
    })

  it('of an organization and its sites are limited, also when they are created at the same time', async () => {
    const siteId = await harness.addSite('Depot')
    const all = await Promise.allSettled([1, 2, 3, 4].map((n) => create(n === 1 ? siteId : null, { perOrg: 2 })))
    expect(all.filter(({ status: of }) => of === 'fulfilled')).toHaveLength(2)
    await expect(create(null, { perOrg: 2 })).rejects.toMatchObject({
      code: 'invalid',
      message: 'An organization and its sites may have at most 2 webhooks',
    })
  })

  it('of a site are limited', async () => {
    const [siteId, other] = [await harness.addSite('Depot'), await harness.addSite('Hall')]
    await create(siteId, { perSite: 1 })
    await expect(create(siteId, { perSite: 1 })).rejects.toMatchObject({
      message: 'A site may have at most 1 webhooks',
    })
    for (const place of [other, null]) await create(place, { perSite: 1 })
  })
})

describe('messages that wait', () => {
  const names = ['a', 'b', 'c', 'd', 'e']

  it('are limited for each webhook; more are counted, and others get everything', async () => {
    const { id } = await harness.addWebhook(hook(down.url))
    const { id: healthy } = await harness.addWebhook(hook(up.url))
    await harness.start({ limits: limitsOf({ pendingPerWebhook: 3 }) })
    await auditMany(['first'])
    await down.waitFor(1)
    await auditMany(names)
    expect(up.received.flatMap(messagesOf)).toEqual(['first', ...names])
    const [overflowedAt, overflowingSince] = [clock.now(), clock.now()]
    expect(await activityOf(id)).toMatchObject({ pending: 3, overflowed: 3, overflowedAt, overflowingSince })
    expect(await activityOf(healthy)).toMatchObject({ overflowed: 0, overflowedAt: null, overflowingSince: null })
    // Less than an hour apart, messages are dropped in a series.
    clock.advance(OVERFLOWING_MS)
    await auditMany(['f'])
    expect(await activityOf(id)).toMatchObject({ overflowed: 4, overflowedAt: clock.now(), overflowingSince })
    clock.advance(OVERFLOWING_MS + 1)
    await auditMany(['g'])
    expect(await activityOf(id)).toMatchObject({ overflowed: 5, overflowingSince: clock.now() })
    down.answer(status(200))
    await waitUntil('everything delivered', async () => {
      clock.advance(60_000)
      harness.wake()
      return (await harness.waiting()).pending === 0
    })
    await auditMany(['last'])
    await waitUntil('the last one', () => down.received.flatMap(messagesOf).includes('last'))
    // The oldest remain.
    expect(new Set(down.received.flatMap(messagesOf))).toEqual(new Set(['first', 'a', 'b', 'last']))
    expect(await sweepLanes(harness.ctx)).toBe(0)
  })

  it('are limited for each organization', async () => {
    const other = await harness.addOrg()
    const webhooks = [await harness.addWebhook(hook(down.url)), await harness.addWebhook(hook(down.url))]
    await harness.addWebhook(hook(up.url), null, other)
    await harness.start({ limits: limitsOf({ pendingPerOrg: 3 }) })
    await auditMany(names)
    await auditMany(names, other)
    expect(up.received.flatMap(messagesOf)).toEqual(names)
    const activities = await Promise.all(webhooks.map(({ id }) => activityOf(id)))
    const sum = (of: 'pending' | 'overflowed') => activities.reduce((all, activity) => all + (activity?.[of] ?? 0), 0)
    expect([sum('pending'), sum('overflowed')]).toEqual([3, 2 * names.length - 3])
    expect((await harness.waiting()).messages).toBe(3)
  })

  it('leave room for a webhook that has few of them, whatever waits for the others of its organization', async () => {
    const downs = [await harness.addWebhook(hook(down.url)), await harness.addWebhook(hook(down.url))]
    const { id: healthy } = await harness.addWebhook(hook(up.url))
    const workers = await harness.start({ limits: limitsOf({ pendingPerOrg: 12 }) })
    const many = Array.from({ length: 12 }, (_, index) => `m${index}`)
    await auditMany(many)
    expect(up.received.flatMap(messagesOf)).toEqual(many)
    expect(await activityOf(healthy)).toMatchObject({ pending: 0, overflowed: 0 })
    const waiting = await Promise.all(downs.map(({ id }) => activityOf(id)))
    const sum = (of: 'pending' | 'overflowed') => waiting.reduce((all, activity) => all + (activity?.[of] ?? 0), 0)
    // One of the twelve is kept for the healthy one.
    expect(sum('pending')).toBe(11)
    expect(sum('overflowed')).toBe(2 * many.length - 11)
    await workers.stop()
  })

  it('leave room for a message that takes the place of one that is gone, although the lane has used up its part', async () => {
    const { orgId } = harness.scope
    const { id: webhookId } = await harness.addWebhook(hook(up.url))
    const [at, until, runId] = [clock.now(), addMs(clock.now(), 60_000), uuidv7()]
    const held = harness.ctx.db.updateTable('webhookLane').set({ pending: 10, leaseUntil: until, leasedBy: runId })
    const { epoch } = await held.where('webhookId', '=', webhookId).returning('epoch').executeTakeFirstOrThrow()
    const body = Buffer.from('{}')
    const message = { orgId, webhookId, topic: 'audits', body, eventCount: 1, orderKey: null }
    const first = { ...message, id: uuidv7() }
    const messages = [first, { ...message, id: uuidv7() }]
    const rooms = new Map([[webhookId, { shared: 0, perWebhook: 2 }]])
    const { inserted } = await routeMessages(
      harness.ctx.db,
      { steps: [], messages, dropped: [], rooms },
      { at, lease: { runId, until, lend: () => ({ epoch, messages: 1, ahead: 0 }) }, vtimeFloor: 0, maxPending: 100 },
    )
    expect(inserted).toEqual([first])
    const lane = await harness.ctx.db
      .selectFrom('webhookLane')
      .select(['pending', 'overflowed'])
      .executeTakeFirstOrThrow()
    expect([lane.pending, Number(lane.overflowed)]).toEqual([10, 1])
  })

  it('are leased with their idle lane if a pause of it is over, as after each message of a rate limit', async () => {
    const { orgId } = harness.scope
    const [at, runId] = [clock.now(), uuidv7()]
    const paused = { failures: 0, openUntil: addMs(at, -100) }
    const isLeased = async (state: typeof paused) => {
      const { id: webhookId } = await harness.addWebhook(hook(up.url))
      await harness.ctx.db.updateTable('webhookLane').set(state).where('webhookId', '=', webhookId).execute()
      const body = Buffer.from('{}')
      const messages = [{ orgId, webhookId, id: uuidv7(), topic: 'audits', body, eventCount: 1, orderKey: null }]
      const rooms = new Map([[webhookId, { shared: 1, perWebhook: 1 }]])
      const { direct, toClaim } = await routeMessages(
        harness.ctx.db,
        { steps: [], messages, dropped: [], rooms },
        { at, lease: { runId, until: addMs(at, 60_000), lend: () => null }, vtimeFloor: 0, maxPending: 100 },
      )
      expect(direct.length).toBe(toClaim ? 0 : 1)
      return !toClaim
    }
    expect(await isLeased(paused)).toBe(true)
    expect(await isLeased({ ...paused, openUntil: addMs(at, 1) })).toBe(false)
    expect(await isLeased({ ...paused, failures: 5 })).toBe(false)
  })

  it('leave room as soon as their results are written', async () => {
    // Two webhooks, so that the events are routed.
    const { id } = await harness.addWebhook(hook(up.url))
    await harness.addWebhook(hook(up.url))
    await harness.start({ limits: limitsOf({ pendingPerWebhook: names.length, pendingPerOrg: 2 * names.length + 2 }) })
    const replies: (() => void)[] = []
    up.answer((...request) => void replies.push(() => status(200)(...request)))
    for (const name of names) await harness.audit(name)
    await waitUntil('all wait', async () => (await harness.waiting()).messages === 2 * names.length)
    up.answer(status(200))
    for (const reply of replies) reply()
    await waitUntil('results written', async () => (await harness.waiting()).messages === 0)
    await auditMany(names)
    await up.waitFor(4 * names.length)
    expect(await activityOf(id)).toMatchObject({ pending: 0, overflowed: 0 })
  })

  it('are not exceeded by replays', async () => {
    const { id } = await harness.addWebhook(hook(up.url))
    const workers = await harness.start()
    await auditMany(names)
    await up.waitFor(names.length)
    await waitUntil('results written', async () => (await harness.deliveries()).length === names.length)
    await workers.stop()
    const filter = { ids: null, topic: null, reason: null, start: null, end: null }
    const replay = (pendingPerWebhook: number) =>
      replayMessages(harness.ctx, harness.scope, {
        id,
        limits: limitsOf({ pendingPerWebhook }),
        status: 'delivered',
        filter,
      })
    // A replay leaves out what is delivered while it begins.
    clock.advance(1)
    await expect(replay(names.length - 1)).rejects.toMatchObject({ code: 'conflict' })
    expect(await replay(names.length)).toMatchObject({ replayed: names.length })
    await expect(replay(names.length)).rejects.toMatchObject({ code: 'conflict' })
    expect((await harness.waiting()).messages).toBe(names.length)
  })
})

it('an event that every filter rejects is done after one look-up', async () => {
  await harness.addWebhook({ ...hook(up.url), filter: "$.events[?@.message == 'other']" })
  await harness.audit('this')
  const now = clock.now()
  const found = await findQueues(harness.ctx.db, {
    ...{ after: firstKey, fromId: lowestId, limit: 10, now, events: 10, turn: 1, exceptIds: [] },
  })
  const rooms = createOrgRooms(10)
  const round = {
    now,
    maxEvents: 10,
    turn: 1,
    direct: null,
    rooms,
    maxPending: 10,
    charge: () => undefined,
    routing: [],
  }
  const waiting = found.waiting.map(({ events, subscribers }) => ({
    subscribers,
    events: events.map((event) => Object.assign(event, { sentTo: null })),
  }))
  const result = await routeFound(harness.ctx, round, waiting)
  expect(result).toMatchObject({ messages: [], complete: true, againAt: null })
  expect(result.gone).toHaveLength(1)
})
