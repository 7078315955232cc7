import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import type { Mailer } from '../../../src/platform/outbound/mail.ts'
import { deleteOrg } from '../../../src/removal/delete-org.ts'
import { createWebhookCounters } from '../../../src/webhooks/metrics/counters.ts'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { deleteMessagesOfDeleted } from '../../../src/webhooks/deletions/deletions.worker.ts'
import { type Flusher, createFlusher } from '../../../src/webhooks/delivery/flush.ts'
import { type ClaimedLane, type DeliveryRecord, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { disableGoneWebhook } from '../../../src/webhooks/health/disable-webhook.ts'
import { upsertNotice } from '../../../src/webhooks/health/store-notices.ts'
import { watchFailing } from '../../../src/webhooks/health/watch-failing.ts'
import { createSpareCount } from '../../../src/webhooks/lanes/spare-count.ts'
import { reopenLane } from '../../../src/webhooks/lanes/store-breaker.ts'
import { lockWebhooks } from '../../../src/webhooks/store-removal.ts'
import { deleteWebhookRow } from '../../../src/webhooks/store.ts'
import { expireMessages } from '../../../src/webhooks/expiry/expire-messages.ts'
import { expireParkedMessages } from '../../../src/webhooks/expiry/expire-stored.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { addAdmin } from '../add-admin.ts'
import { type Harness, createHarness } from '../harness.ts'
import { laneClaim } from '../lane-claim.ts'

const clock = createTestClock()
const url = 'http://127.0.0.1:1/'
const noFailures = { failures: 0, failingSince: null }
const spare = () => createSpareCount(200)
let harness: Harness
let webhookId: string
/** The reasons why results could not be written at the first try, as a deadlock is. */
let repeated: unknown[]
let flusher: Flusher
beforeEach(async () => {
  harness = await createHarness(clock)
  // Connections for results look messages up in the order of their ids, as they may in a large table.
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(harness.ctx.db)
  await sql`alter database ${sql.id(rows[0]?.name ?? '')} set enable_bitmapscan = off`.execute(harness.ctx.db)
  ;({ id: webhookId } = await harness.addWebhook({ url, topics: ['audits'] }))
  repeated = []
  const log = harness.ctx.log.child({})
  log.warn = (...[details]: readonly unknown[]) => void repeated.push(details)
  flusher = createFlusher({ ...harness.ctx, log }, createWebhookCounters())
})
afterEach(() => harness.close())

/** Inserts messages for the lane and leases it. The later the id of a message, the earlier it is due, as after retries. */
async function claimed(count: number): Promise<ClaimedLane> {
  const message = { orgId: harness.scope.orgId, webhookId, topic: 'audits', eventCount: 1, orderKey: null }
  const added = Array.from({ length: count }, () => ({ ...message, id: uuidv7(), body: Buffer.from('{}') }))
  await inTx(harness.ctx, (tx) => enqueueMessages(tx, added, addMs(clock.now(), -count)))
  for (const [place, { id }] of added.toReversed().entries())
    await harness.ctx.db
      .updateTable('webhookMessage')
      .set({ dueAt: addMs(clock.now(), place - count) })
      .where('id', '=', id)
      .execute()
  const claim = laneClaim(clock, { lanesOf: () => 1 })
  const [lane] = (await inTx(harness.ctx, (tx) => claimLanes(tx, claim))).lanes
  if (lane?.messages.length !== count) throw new Error('not claimed')
  return lane
}

/** Writes the results of the last attempts of messages. */
function write(lane: ClaimedLane, ids: readonly string[], status: DeliveryRecord['status']): Promise<unknown> {
  const count = spare()
  const isDelivered = status === 'success'
  const common = { orgId: lane.orgId, webhookId, siteId: null, topic: 'audits', attempt: 1, status, final: true }
  const answer = { statusCode: isDelivered ? 200 : 500, error: null, reqUrl: url, durationMs: 1, nextAttempt: null }
  const payload = { reqPayload: '{}', payloadId: null, payloadAt: null, payloadBytes: null }
  const headers = { reqHeaders: '{}', headersReduced: null, signatures: null }
  const exchange = { ...headers, ...payload, respHeaders: null, respBody: null, remoteAddress: null }
  const written = ids.map((messageId) => {
    const record = { ...common, ...answer, id: uuidv7(), messageId, createdAt: clock.now(), exchange }
    const verdict = isDelivered ? ({ kind: 'delivered' } as const) : ({ kind: 'give_up' } as const)
    return flusher.add({
      lane,
      spare: count,
      outcome: { attempt: { verdict, askedMs: 0, pauses: 0, record }, failures: noFailures, unrouted: null },
    })
  })
  void flusher.flush()
  return Promise.all(written)
}

/** Starts each of these, one after the other, while `lock` makes them wait, and lets them go on. */
async function together(lock: (tx: Tx) => Promise<unknown>, works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const running: Promise<unknown>[] = []
  await inTx(harness.ctx, async (tx) => {
    await lock(tx)
    for (const [index, work] of works.entries()) {
      running.push(work())
      await untilWaiting(harness, index + 1)
    }
  })
  expect(await Promise.allSettled(running)).toEqual(works.map(() => expect.objectContaining({ status: 'fulfilled' })))
  expect(repeated).toEqual([])
}

/** Lets the receiver of the webhook fail. */
const fail = () => harness.ctx.db.updateTable('webhookLane').set({ failures: 1, failingSince: clock.now() }).execute()
const remove = () => deleteWebhook(harness.ctx, harness.scope, webhookId)
/** Deletes the messages of deleted webhooks. */
const removeMessages = () => deleteMessagesOfDeleted(harness.ctx, { pauseFactor: 0 })
/** Those of deleted webhooks, too. */
const storedMessages = () => harness.ctx.db.selectFrom('webhookMessage').select('id').execute()
const lockWebhook = (tx: Tx) => sql`select from webhook where id = ${webhookId} for no key update`.execute(tx)
const lockLane = (tx: Tx) => sql`select from webhook_lane where webhook_id = ${webhookId} for update`.execute(tx)

it('deletes a webhook and its messages while results delete these in another order', async () => {
  const lane = await claimed(3)
  const ids = lane.messages.map(({ id }) => id)
  const lockSecond = (tx: Tx) => sql`select from webhook_message where id = ${ids[1]} for update`.execute(tx)
  await together(lockSecond, [() => write(lane, ids, 'success'), remove])
  ;({ id: webhookId } = await harness.addWebhook({ url, topics: ['audits'] }))
  const late = await claimed(3)
  const lateIds = late.messages.map(({ id }) => id)
  await remove()
  await together(
    async (tx) => {
      await sql`select from webhook_message where id = ${lateIds[1]} for update`.execute(tx)
      await removeMessages()
      expect(await storedMessages()).toHaveLength(1)
    },
    [() => write(late, lateIds, 'failure')],
  )
  expect(await storedMessages()).toEqual([])
})

it('changes the receiver of a webhook while its lane is released', async () => {
  const lane = await claimed(1)
  await fail()
  const lockSlightly = (tx: Tx) => sql`select from webhook_lane for key share`.execute(tx)
  const health = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 0 }
  const release = async () => {
    const released = flusher.add({ lane, spare: spare(), outcome: { release: health } })
    void flusher.flush()
    await released
  }
  const body = { rate_limit: { messages: 2, per: 'second' } }
  const change = () => updateWebhook(harness.ctx, harness.scope, { id: webhookId, body, outbound: harness.outbound })
  await together(lockSlightly, [release, change])
})

it('opens a lane without waiting for the deletion of its webhook, which waits for the lane', async () => {
  await claimed(1)
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set({ attempt: 1, dueAt: addMs(clock.now(), 3600e3) })
    .execute()
  await fail()
  const key = { orgId: harness.scope.orgId, webhookId }
  const back = { now: clock.now(), keepUntil: null }
  await inTx(harness.ctx, async (tx) => {
    await sql`select from webhook where id = ${webhookId} for update`.execute(tx)
    expect(await inTx(harness.ctx, (other) => reopenLane(other, key, back))).toBe(true)
    await deleteWebhookRow(tx, harness.scope, webhookId)
  })
})

it('deletes a webhook while a message of it is parked after its last attempt, or a week', async () => {
  const lane = await claimed(1)
  await together(lockLane, [
    () =>
      write(
        lane,
        lane.messages.map(({ id }) => id),
        'failure',
      ),
    remove,
  ])
  ;({ id: webhookId } = await harness.addWebhook({ url, topics: ['audits'] }))
  await claimed(1)
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set({ createdAt: addMs(clock.now(), -8 * 24 * 3600e3) })
    .execute()
  await together(lockLane, [() => expireMessages(harness.ctx), remove])
  await removeMessages()
  const parked = harness.ctx.db.selectFrom('webhookParkedMessage').select('id')
  expect([await parked.execute(), await storedMessages()]).toEqual([[], []])
})

it('parks no message of a deleted webhook', async () => {
  const lane = await claimed(2)
  const [tried, old] = lane.messages.map(({ id }) => id)
  const messages = harness.ctx.db.updateTable('webhookMessage')
  await messages
    .set({ createdAt: addMs(clock.now(), -8 * 24 * 3600e3) })
    .where('id', '=', old ?? '')
    .execute()
  await remove()
  await write(lane, [tried ?? ''], 'failure')
  expect(await expireMessages(harness.ctx)).toBe(0)
  expect(await harness.ctx.db.selectFrom('webhookParkedMessage').select('id').execute()).toEqual([])
})

it('deletes parked messages that are old, or of a deleted webhook, without waiting for the others', async () => {
  const lane = await claimed(3)
  const ids = lane.messages.map(({ id }) => id)
  await write(lane, ids, 'failure')
  const parked = harness.ctx.db.selectFrom('webhookParkedMessage').select('id')
  const setOld = (id = '') =>
    harness.ctx.db
      .updateTable('webhookParkedMessage')
      .set({ parkedAt: addMs(clock.now(), -8 * 24 * 3600e3) })
      .where('id', '=', id)
      .execute()
  for (const id of ids.slice(1)) await setOld(id)
  await inTx(harness.ctx, async (tx) => {
    await sql`select from webhook_parked_message where id = ${ids[1]} for update`.execute(tx)
    expect(await expireParkedMessages(harness.ctx)).toBe(1)
    await remove()
    await removeMessages()
    expect(await parked.execute()).toEqual([{ id: ids[1] }])
  })
  await removeMessages()
  expect(await parked.execute()).toEqual([])
})

it('deletes an organization while a webhook of it is disabled, because its receiver is gone', async () => {
  const lane = await claimed(1)
  await together(lockWebhook, [
    () => disableGoneWebhook(harness.ctx, lane),
    () => deleteOrg(harness.ctx, harness.scope),
  ])
  expect(await harness.ctx.db.selectFrom('webhook').select('id').execute()).toEqual([])
})

it('deletes the webhooks of an organization in any order while mails about their failures are noted', async () => {
  const { ctx, scope } = harness
  await harness.addWebhook({ url, topics: ['audits'] })
  await addAdmin(harness, 'ada@example.test')
  await fail()
  const webhooks = await ctx.db.selectFrom('webhook').select('id').orderBy('id').execute()
  for (const { id } of webhooks)
    await inTx(ctx, (tx) =>
      upsertNotice(tx, { orgId: scope.orgId, webhookId: id, failingSince: clock.now(), hours: 1 }),
    )
  const lockSecond = (tx: Tx) => sql`select from webhook_notice where webhook_id <> ${webhookId} for update`.execute(tx)
  // The deletion of their organization deletes them in the order of their rows.
  const removeAll = () =>
    inTx(ctx, async (tx) => {
      await lockWebhooks(tx, scope)
      for (const { id } of webhooks.toReversed()) await deleteWebhookRow(tx, scope, id)
    })
  const mailer: Mailer = { send: () => Promise.resolve(), close: () => Promise.resolve() }
  await together(lockSecond, [removeAll, () => watchFailing(ctx, mailer)])
  expect(await ctx.db.selectFrom('webhookNotice').select('webhookId').execute()).toEqual([])
})
