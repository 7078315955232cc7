import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { createClockFollower } from '../../../src/webhooks/delivery/follow-clock.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { listWaitingLanes, shiftLanes } from '../../../src/webhooks/lanes/store-clock.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import { releaseAtOnce } from '../harness.ts'
import { status } from '../receiver.ts'

const HOUR_MS = 3600e3
const FAILURES = 5
/** More messages than were ever moved by one statement. */
const MANY = 10_500

it('sends again what has failed while the clock was an hour ahead, as soon as it would have been due', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce)
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'w' })
  const lane = () =>
    harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id).executeTakeFirstOrThrow()
  const untilFailed = (failures: number) =>
    waitUntil(`${failures} failures`, async () => (await lane()).failures >= failures)
  receiver.answer(status(500))
  await harness.start()
  const startAt = clock.now()
  clock.advance(HOUR_MS)
  for (let count = 1; count <= FAILURES; count += 1) {
    await harness.audit(`event ${count}`)
    harness.wake()
    await untilFailed(count)
  }
  expect((await lane()).openUntil).toEqual(addMs(startAt, HOUR_MS + 5000))
  clock.advance(-HOUR_MS)
  harness.wake()
  // The breaker, and the retries with it, end as long after the present as they would have; a moment of the test is in it.
  const soon = addMs(startAt, 10_000)
  await waitUntil('the breaker ends earlier', async () => ((await lane()).openUntil ?? soon) < soon)
  receiver.answer(status(200))
  clock.advance(10_000)
  harness.wake()
  await receiver.waitFor(2 * FAILURES)
  await waitUntil('all are delivered', async () => (await harness.waiting()).messages === 0)
  expect(await lane()).toMatchObject({ failures: 0, openUntil: null, failingSince: null })
})

it('sends what waited for more events of its topic when the clock was set back', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce)
  await harness.addWebhook({ url: receiver.url, topics: ['device-events'], name: 'w' })
  await harness.start()
  await harness.deviceEvents(['before'])
  clock.advance(-HOUR_MS)
  harness.wake()
  await receiver.waitFor(1)
  expect(receiver.received[0]?.events).toMatchObject([{ device_name: 'before' }])
})

it('continues a lane with a rate limit at once if the clock is set back while it is held', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce)
  const body = { url: receiver.url, topics: ['audits'], name: 'w', rate_limit: { messages: 1, per: 'second' } }
  const { id } = await harness.addWebhook(body)
  await harness.start()
  await harness.audit('before')
  harness.wake()
  await receiver.waitFor(1)
  await waitUntil('the result is written', async () => (await harness.waiting()).messages === 0)
  clock.advance(-HOUR_MS)
  harness.wake()
  await waitUntil('the lane is released', async () => {
    const lane = harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id)
    return (await lane.executeTakeFirstOrThrow()).leaseUntil === null
  })
  clock.advance(1000)
  await harness.audit('after')
  harness.wake()
  await receiver.waitFor(2)
})

it('makes all messages of a webhook earlier, however many wait, and leaves them in their order', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce)
  const { orgId } = harness.scope
  const body = { url: receiver.url, topics: ['device-events'], single_event_per_message: true, order: 'device' }
  const { id: webhookId } = await harness.addWebhook(body)
  const message = { orgId, webhookId, topic: 'device-events', body: Buffer.from('{}'), eventCount: 1, orderKey: 'a' }
  const messages = Array.from({ length: MANY }, () => ({ ...message, id: uuidv7() }))
  await inTx(harness.ctx, (tx) => enqueueMessages(tx, messages, addMs(clock.now(), 2 * HOUR_MS)))
  const late = [...messages.slice(-FAILURES)].map(({ id }) => id)
  const inMessages = harness.ctx.db.updateTable('webhookMessage').where('id', 'in', late)
  await inMessages.set({ dueAt: addMs(clock.now(), 3 * HOUR_MS) }).execute()
  await inTx(harness.ctx, (tx) => shiftLanes(tx, [{ orgId, webhookId }], { now: clock.now(), ms: HOUR_MS }))
  const waiting = await harness.ctx.db
    .selectFrom('webhookMessage')
    .select(['id', 'dueAt'])
    .orderBy('dueAt')
    .orderBy('id')
    .execute()
  expect(waiting.map(({ id }) => id)).toEqual(messages.map(({ id }) => id))
  const hoursOf = ({ dueAt }: { readonly dueAt: Date | null }) => (Number(dueAt) - clock.now().getTime()) / HOUR_MS
  expect(new Set(waiting.slice(0, -FAILURES).map(hoursOf))).toEqual(new Set([1]))
  expect(new Set(waiting.slice(-FAILURES).map(hoursOf))).toEqual(new Set([2]))
})

it('lets the next replay of a webhook begin as soon as if the clock had not been set back', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce)
  const { db } = harness.ctx
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, topics: [] })
  await db
    .updateTable('webhookLane')
    .set({ replaysUntil: addMs(clock.now(), HOUR_MS + 5000) })
    .execute()
  const [lane] = await listWaitingLanes(db, clock.now())
  expect(lane).toEqual({ orgId: harness.scope.orgId, webhookId, messages: 0 })
  if (lane !== undefined) await inTx(harness.ctx, (tx) => shiftLanes(tx, [lane], { now: clock.now(), ms: HOUR_MS }))
  expect(await db.selectFrom('webhookLane').select('replaysUntil').execute()).toEqual([
    { replaysUntil: addMs(clock.now(), 5000) },
  ])
})

/** Sets the clock back by an hour behind the breaker of a webhook, and has yet to follow that. */
async function stepBack() {
  const { clock, harness } = await startEngine(createTestClock(), releaseAtOnce)
  const { db } = harness.ctx
  await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['audits'], name: 'w' })
  await db.updateTable('webhookLane').set({ openUntil: clock.now() }).execute()
  const follow = createClockFollower(harness.ctx, { monotonicMs: () => 0, startBackMs: 0 })
  await follow()
  clock.advance(-HOUR_MS)
  const openUntil = async () =>
    (await db.selectFrom('webhookLane').select('openUntil').executeTakeFirstOrThrow()).openUntil
  return { db, now: clock.now(), follow, openUntil }
}

it('follows a step later if the database could not be asked at once', async () => {
  const { db, now, follow, openUntil } = await stepBack()
  await sql`alter table webhook_lane rename to webhook_lane_away`.execute(db)
  await expect(follow()).rejects.toThrow('webhook_lane')
  await sql`alter table webhook_lane_away rename to webhook_lane`.execute(db)
  await follow()
  expect(await openUntil()).toEqual(now)
})

it('follows a step later for a webhook that could not be changed at once', async () => {
  const { db, now, follow, openUntil } = await stepBack()
  await sql`create function fail() returns trigger language plpgsql
    as $$ begin raise exception 'no disk' using errcode = '53100'; end $$`.execute(db)
  await sql`create trigger fails before update on webhook_lane for each statement execute function fail()`.execute(db)
  await follow()
  expect(await openUntil()).toEqual(addMs(now, HOUR_MS))
  await sql`drop trigger fails on webhook_lane`.execute(db)
  await follow()
  expect(await openUntil()).toEqual(now)
})

/** Webhooks of which each has one message that is tried again in two hours. */
const WEBHOOKS = 1200

it('follows a step in portions of webhooks, and ends when all have followed', async () => {
  const { clock, harness } = await startEngine(createTestClock(), releaseAtOnce)
  const { db } = harness.ctx
  await sql`
    with added as (
      insert into webhook (org_id, id, enabled, topics, doc, created_at, modified_at)
      select ${harness.scope.orgId}, gen_random_uuid(), true, '{}', '{}', now(), now() from generate_series(1, ${WEBHOOKS}::integer)
      returning org_id, id
    ), message as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, attempt, due_at, created_at)
      select org_id, gen_random_uuid(), id, 'audits', '{}', 1, 1, ${addMs(clock.now(), 2 * HOUR_MS)}::timestamptz, now() from added)
    insert into webhook_lane (org_id, webhook_id, pending, due_from) select org_id, id, 1, ${clock.now()}::timestamptz from added
  `.execute(db)
  const follow = createClockFollower(harness.ctx, { monotonicMs: () => 0, startBackMs: HOUR_MS })
  const countFollowed = async () => {
    const dueAt = addMs(clock.now(), HOUR_MS)
    const messages = await db.selectFrom('webhookMessage').select('id').where('dueAt', '=', dueAt).execute()
    const lanes = await db.selectFrom('webhookLane').select('webhookId').where('nextAt', '=', dueAt).execute()
    return [messages.length, lanes.length]
  }
  expect([await follow(), await countFollowed()]).toEqual([true, [500, 500]])
  expect([await follow(), await countFollowed()]).toEqual([true, [1000, 1000]])
  expect([await follow(), await countFollowed()]).toEqual([false, [WEBHOOKS, WEBHOOKS]])
  expect([await follow(), await countFollowed()]).toEqual([false, [WEBHOOKS, WEBHOOKS]])
})

it('follows a step that was taken while the service did not run', async () => {
  const { clock, harness } = await startEngine(createTestClock(), releaseAtOnce)
  const { db } = harness.ctx
  await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['audits'], name: 'w' })
  await db
    .updateTable('webhookLane')
    .set({ openUntil: addMs(clock.now(), HOUR_MS + 5000) })
    .execute()
  await db
    .updateTable('serviceClock')
    .set({ wallAt: addMs(clock.now(), HOUR_MS) })
    .execute()
  await harness.start()
  await waitUntil('the breaker ends earlier', async () => {
    const { openUntil } = await db.selectFrom('webhookLane').select('openUntil').executeTakeFirstOrThrow()
    return openUntil?.getTime() === addMs(clock.now(), 5000).getTime()
  })
})
