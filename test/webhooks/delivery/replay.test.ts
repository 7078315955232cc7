import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { defaultWebhookLimits as limits } from '../../../src/webhooks/limits/limits.ts'
import { replayMessages } from '../../../src/webhooks/replays/replay-messages.ts'
import { type ReplayFilter, replayPace } from '../../../src/webhooks/replays/store-parked.ts'
import { findActivity } from '../../../src/webhooks/health/store.ts'
import { expireMessages } from '../../../src/webhooks/expiry/expire-messages.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { MAX_ATTEMPTS } from '../../../src/webhooks/delivery/decide-retry.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { type Harness, releaseAtOnce } from '../harness.ts'
import { type Receiver, allValid, signaturesOf, status } from '../receiver.ts'

const WEEK_MS = 7 * 24 * 3600e3

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce))
})

const all: ReplayFilter = { ids: null, topic: null, reason: null, start: null, end: null }
const parked = () => harness.ctx.db.selectFrom('webhookParkedMessage').selectAll().orderBy('parkedAt').execute()
const replay = async (id: string, filter: Partial<ReplayFilter> = {}) =>
  (await replayMessages(harness.ctx, harness.scope, { id, limits, status: 'parked', filter: { ...all, ...filter } }))
    .replayed

it('parks a message after its last attempt, and sends it again with the same id and bytes', async () => {
  const secret = 'again'
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], secret })
  receiver.answer(status(500))
  await harness.start()
  await harness.audit('given up')
  await waitUntil('failure kept', async () => (await harness.deliveries()).length === 1)
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set({ attempt: MAX_ATTEMPTS - 1 })
    .execute()
  clock.advance(6000)
  harness.wake()
  await waitUntil('parked', async () => (await parked()).length === 1)
  expect((await harness.waiting()).messages).toBe(0)
  // The row of the lane may count the message until its release, but nobody is shown more than there are.
  expect(await findActivity(harness.ctx.db, harness.scope, { webhookId: id, since: clock.now() })).toMatchObject({
    pending: 0,
    parked: 1,
  })
  await waitUntil('the lane is released', async () => (await harness.waiting()).pending === 0)
  expect(await parked()).toMatchObject([{ webhookId: id, reason: 'exhausted', attempt: MAX_ATTEMPTS }])
  const records = await harness.ctx.db
    .selectFrom('webhookDelivery')
    .select(['attempt', 'final', 'nextAttempt', 'durationMs'])
    .orderBy('createdAt')
    .execute()
  const durationMs = expect.any(Number)
  expect(records).toEqual([
    { attempt: 1, final: false, nextAttempt: new Date(clock.now().getTime() - 1000), durationMs },
    { attempt: MAX_ATTEMPTS, final: true, nextAttempt: null, durationMs },
  ])
  receiver.answer(status(200))
  expect(await replay(id)).toBe(1)
  await receiver.waitFor(3)
  await waitUntil('delivered', async () => (await harness.waiting()).messages === 0)
  const ofMessage = receiver.received.filter(({ events }) => events[0]?.['message'] === 'given up')
  expect(ofMessage).toHaveLength(3)
  expect(new Set(ofMessage.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(new Set(ofMessage.map(({ raw }) => raw.toString('utf8'))).size).toBe(1)
  for (const message of ofMessage) expect(signaturesOf(message, secret)).toEqual(allValid)
  expect(await parked()).toEqual([])
})

it('replays exactly the messages that match all conditions', async () => {
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false })
  const { id: otherId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false })
  const park = async (topic: string, reason: 'exhausted' | 'expired', of = webhookId) => {
    clock.advance(1000)
    const [id, at] = [uuidv7(), clock.now()]
    const row = { orgId: harness.scope.orgId, id, webhookId: of, topic, reason, eventCount: 1, attempt: 12 }
    const body = Buffer.from('{}')
    await harness.ctx.db
      .insertInto('webhookParkedMessage')
      .values({ ...row, body, createdAt: at, parkedAt: at })
      .execute()
    return { id, at }
  }
  const first = await park('audits', 'exhausted')
  const second = await park('audits', 'expired')
  const third = await park('device-events', 'exhausted')
  const fourth = await park('audits', 'exhausted')
  const other = await park('audits', 'exhausted', otherId)
  expect(await replay(webhookId, { ids: [other.id] })).toBe(0)
  expect(await replay(webhookId, { ids: [second.id], reason: 'exhausted' })).toBe(0)
  expect(await replay(webhookId, { topic: 'device-events' })).toBe(1)
  expect(await replay(webhookId, { start: fourth.at })).toBe(1)
  expect(await replay(webhookId, { end: first.at, reason: 'exhausted', topic: 'audits' })).toBe(1)
  expect((await parked()).map(({ id }) => id)).toEqual([second.id, other.id])
  const waiting = await harness.ctx.db.selectFrom('webhookMessage').select(['id', 'attempt']).orderBy('id').execute()
  expect(waiting).toEqual([first, third, fourth].map(({ id }) => ({ id, attempt: 0 })))
  expect(await harness.waiting()).toEqual({ messages: 3, pending: 3 })
})

it('replays more than fits one transaction, and counts what it has replayed', async () => {
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false })
  const at = clock.now()
  const rows = Array.from({ length: 1200 }, () => ({
    orgId: harness.scope.orgId,
    id: uuidv7(),
    webhookId,
    topic: 'audits',
    body: Buffer.from('{}'),
    eventCount: 1,
    attempt: 12,
    reason: 'expired' as const,
    createdAt: at,
    parkedAt: at,
  }))
  await harness.ctx.db.insertInto('webhookParkedMessage').values(rows).execute()
  expect(await replay(webhookId)).toBe(1200)
  expect(await harness.waiting()).toEqual({ messages: 1200, pending: 1200 })
  // Live messages come between the portions of a replay.
  const due = await harness.ctx.db.selectFrom('webhookMessage').select('dueAt').orderBy('dueAt').execute()
  const portions = Map.groupBy(due, ({ dueAt }) => (dueAt.getTime() - at.getTime()) / replayPace.pauseMs)
  expect([...portions].map(([place, { length }]) => [place, length])).toEqual(
    Array.from({ length: 24 }, (_, place) => [place, 50]),
  )
})

it('keeps the pace of one replay, however many are requested in a row', async () => {
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false })
  const { orgId } = harness.scope
  const at = clock.now()
  const ids = Array.from({ length: 200 }, () => uuidv7())
  const others = { topic: 'audits', eventCount: 1, attempt: 12, reason: 'expired' as const, createdAt: at }
  const rows = ids.map((id) => Object.assign({ orgId, id, webhookId, body: Buffer.from('{}'), parkedAt: at }, others))
  await harness.ctx.db.insertInto('webhookParkedMessage').values(rows).execute()
  for (const start of [0, 50, 100, 101, 102])
    await replay(webhookId, { ids: ids.slice(start, start < 100 ? start + 50 : start + 1) })
  const dueMs = async (of: readonly string[]): Promise<number[]> => {
    const due = harness.ctx.db.selectFrom('webhookMessage').select('dueAt').where('id', 'in', of)
    return (await due.orderBy('dueAt').execute()).map(({ dueAt }) => dueAt.getTime() - at.getTime())
  }
  expect(new Set(await dueMs(ids.slice(0, 50)))).toEqual(new Set([0]))
  expect(new Set(await dueMs(ids.slice(50, 100)))).toEqual(new Set([500]))
  expect(await dueMs(ids.slice(100))).toEqual([1000, 1010, 1020])
  // Later, a replay begins at once.
  clock.advance(5000)
  await replay(webhookId, { ids: ids.slice(199) })
  expect(await dueMs(ids.slice(199))).toEqual([5000])
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('goes on after a portion of messages whose copies all wait', async () => {
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], enabled: false })
  const { orgId } = harness.scope
  const at = clock.now()
  const body = Buffer.from('{}')
  const messageOf = (id: string) => ({ orgId, id, webhookId, topic: 'audits', body, eventCount: 1, createdAt: at })
  const ids = Array.from({ length: 501 }, () => uuidv7())
  const copies = ids.slice(0, 500).map((id) => Object.assign(messageOf(id), { dueAt: at }))
  await harness.ctx.db.insertInto('webhookMessage').values(copies).execute()
  await harness.ctx.db.updateTable('webhookLane').set({ pending: 500 }).where('webhookId', '=', webhookId).execute()
  const parkedBy = { attempt: 12, reason: 'expired' as const, parkedAt: at }
  const rows = ids.map((id) => Object.assign(messageOf(id), parkedBy))
  await harness.ctx.db.insertInto('webhookParkedMessage').values(rows).execute()
  expect(await replay(webhookId)).toBe(1)
  expect(await parked()).toEqual([])
  expect(await harness.waiting()).toEqual({ messages: 501, pending: 501 })
})

it('a parked message whose copy waits can be replayed, and expires', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'] })
  const workers = await harness.start()
  await harness.audit('one')
  await receiver.waitFor(1)
  await waitUntil('the record', async () => (await harness.deliveries()).length === 1)
  await waitUntil('the lane is released', async () => (await harness.waiting()).pending === 0)
  await workers.stop()
  await updateWebhook(harness.ctx, harness.scope, { id, body: { enabled: false }, outbound: harness.outbound })
  await harness.ctx.db.deleteFrom('webhookOutbox').execute()
  const copy = () => replayMessages(harness.ctx, harness.scope, { id, limits, status: 'delivered', filter: all })
  const expire = async (): Promise<void> => {
    clock.advance(WEEK_MS + 1000)
    await expireMessages(harness.ctx)
  }
  clock.advance(1000)
  await copy()
  await expire()
  await copy()
  expect([(await parked()).length, (await harness.waiting()).messages]).toEqual([1, 1])
  expect(await replay(id)).toBe(0)
  expect([(await parked()).length, (await harness.waiting()).messages]).toEqual([0, 1])
  await expire()
  await copy()
  const before = await parked()
  await expire()
  const after = await parked()
  expect([before.length, after.length, (await harness.waiting()).messages]).toEqual([1, 1, 0])
  expect(after[0]?.parkedAt.getTime()).toBeGreaterThan(before[0]?.parkedAt.getTime() ?? Infinity)
})
