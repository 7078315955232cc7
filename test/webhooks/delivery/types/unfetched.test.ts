import { tmpdir } from 'node:os'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { inTx } from '../../../../src/platform/database/db.ts'
import { addMs } from '../../../../src/platform/time/clock.ts'
import { type Mailer, createMailer } from '../../../../src/platform/outbound/mail.ts'
import { enqueueMessages } from '../../../../src/webhooks/delivery/store-enqueue.ts'
import { expireMessages } from '../../../../src/webhooks/expiry/expire-messages.ts'
import { listFailingWebhooks } from '../../../../src/webhooks/health/store-failing.ts'
import { findActivity } from '../../../../src/webhooks/health/store.ts'
import { watchFailing } from '../../../../src/webhooks/health/watch-failing.ts'
import { watchUnfetched } from '../../../../src/webhooks/health/watch-unfetched.ts'
import { readWebhookSamples } from '../../../../src/webhooks/metrics/store.ts'
import { acknowledgeMessages, pullMessages } from '../../../../src/webhooks/pull/pull-messages.ts'
import { listWebhooks } from '../../../../src/webhooks/store.ts'
import { updateWebhook } from '../../../../src/webhooks/update-webhook.ts'
import { type Smtp, startSmtp } from '../../../support/peers/smtp.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { addAdmin } from '../../add-admin.ts'
import { type Harness, createHarness } from '../../harness.ts'

const HOUR_MS = 3600e3

let clock: TestClock
let harness: Harness
let smtp: Smtp
let mailer: Mailer
beforeAll(async () => {
  smtp = await startSmtp()
})
afterAll(() => smtp.close())
beforeEach(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
  const { log } = harness.ctx
  mailer = createMailer({ smtpUrl: smtp.url, from: 'Signalbox <s@example.test>', dataDir: tmpdir(), log })
  smtp.mails.length = 0
  onTestFinished(async () => {
    await mailer.close()
    await harness.close()
  })
})

const change = (id: string, body: Record<string, unknown>) =>
  updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })

async function addMessage(webhookId: string): Promise<void> {
  const { ctx, scope } = harness
  const message = { orgId: scope.orgId, id: uuidv7(), webhookId, topic: 'audits', eventCount: 1, orderKey: null }
  const body = Buffer.from('{"topic":"audits","events":[{}]}')
  await inTx(ctx, (tx) => enqueueMessages(tx, [{ ...message, body }], clock.now()))
}

/** Fetches all messages and acknowledges them. */
async function fetchAll(id: string): Promise<void> {
  const { ctx, scope } = harness
  const { cursor } = await pullMessages(ctx, scope, { id, cursor: 0n, limit: 100 })
  await acknowledgeMessages(ctx, scope, { id, cursor })
}

/** Runs the chores after so many hours more. */
async function watchAfter(hours: number): Promise<void> {
  clock.advance(hours * HOUR_MS)
  await watchUnfetched(harness.ctx)
  await watchFailing(harness.ctx, mailer)
}

/** Returns since when nobody fetches, if all that shows it agrees. */
async function unfetchedSince(id: string): Promise<Date | null> {
  const { ctx, scope } = harness
  const activity = await findActivity(ctx.db, scope, { webhookId: id, since: clock.now() })
  const since = activity?.unfetchedSince ?? null
  const now = clock.now()
  const isListed = [since !== null]
  const failing = await listFailingWebhooks(ctx.db, now)
  expect(failing.map((webhook) => webhook.id === id && webhook.isPulled)).toEqual(isListed.filter(Boolean))
  const page = { limit: 100, page: 1 }
  const { total } = await listWebhooks(ctx.db, scope, {
    conditions: { failing: { values: [true], patterns: [], anyCase: false } },
    now,
    page,
  })
  expect(total).toBe(isListed.filter(Boolean).length)
  const samples = await readWebhookSamples(ctx.db)
  const ofState = samples.find(
    ({ metric, labels }) => metric.name === 'signalbox_webhooks' && labels?.['state'] === 'failing',
  )
  expect(ofState?.value).toBe(total)
  return since
}

it('is failing a day after the last acknowledgment while messages wait, until the next one', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  await watchAfter(48)
  // Nothing waits.
  expect(await unfetchedSince(id)).toBeNull()
  await addMessage(id)
  await watchAfter(23)
  expect(await unfetchedSince(id)).toBeNull()
  await fetchAll(id)
  const fetchedAt = clock.now()
  await addMessage(id)
  clock.advance(1000)
  const createdAt = clock.now()
  await addMessage(id)
  expect(createdAt > fetchedAt).toBe(true)
  await watchAfter(23.9)
  expect(await unfetchedSince(id)).toBeNull()
  await watchAfter(0.1)
  expect(await unfetchedSince(id)).toEqual(fetchedAt)
  // It is the same time however often the chore runs, and fetching alone changes nothing.
  await pullMessages(harness.ctx, harness.scope, { id, cursor: 0n, limit: 1 })
  await watchAfter(1)
  expect(await unfetchedSince(id)).toEqual(fetchedAt)
  await fetchAll(id)
  expect(await unfetchedSince(id)).toBeNull()
})

it('is failing no longer once all its messages have expired', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  await addMessage(id)
  await watchAfter(6 * 24)
  await addMessage(id)
  const since = await unfetchedSince(id)
  expect(since).not.toBeNull()
  await watchAfter(2 * 24)
  expect(await expireMessages(harness.ctx)).toBe(1)
  expect(await unfetchedSince(id)).toEqual(since)
  await watchAfter(6 * 24)
  expect(await expireMessages(harness.ctx)).toBe(1)
  expect(await unfetchedSince(id)).toBeNull()
  // Those that come later wait for a day as well.
  await addMessage(id)
  await watchAfter(23)
  expect(await unfetchedSince(id)).toBeNull()
})

it('is not failing before its receiver had a day to fetch, without the time in which the service was stopped', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  await addMessage(id)
  let [stoppedMs, listeningSinceMs] = [0, 0]
  const nowMs = (): number => clock.now().getTime() - stoppedMs
  const ctx = { ...harness.ctx, serviceClock: { nowMs, listeningSinceMs: () => listeningSinceMs } }
  const runFor = async (hours: number): Promise<Date | null> => {
    clock.advance(hours * HOUR_MS)
    await watchUnfetched(ctx)
    return unfetchedSince(id)
  }
  const restartAfter = (hours: number): void => {
    clock.advance(hours * HOUR_MS)
    stoppedMs += hours * HOUR_MS
    listeningSinceMs = nowMs()
  }
  expect(await runFor(2)).toBeNull()
  restartAfter(30)
  expect(await runFor(0)).toBeNull()
  expect(await runFor(10)).toBeNull()
  restartAfter(0)
  expect(await runFor(11.9)).toBeNull()
  expect(await runFor(0.1)).not.toBeNull()
  // An acknowledgment begins another day.
  await fetchAll(id)
  await addMessage(id)
  expect(await runFor(23)).toBeNull()
  expect(await runFor(1)).not.toBeNull()
})

it('mails the admins after a day and after three days, and is never disabled', async () => {
  await addAdmin(harness, 'ada@example.test')
  const { id } = await harness.addWebhook({ type: 'pull', topics: [], name: 'Alerts' })
  await addMessage(id)
  for (const hours of [23, 1, 1, 46, 1, 1, 24]) await watchAfter(hours)
  expect(smtp.mails.map(({ subject }) => subject)).toEqual(['A webhook fails', 'A webhook fails'])
  expect(smtp.mails[0]?.text).toContain(`(Alerts) of the organization "Org" has acknowledged no message since`)
  const webhook = harness.ctx.db.selectFrom('webhook').select('enabled').where('id', '=', id)
  expect(await webhook.execute()).toEqual([{ enabled: true }])
})

it('has a day after a change, also of its type, and none while it is disabled', async () => {
  const { id } = await harness.addWebhook({ url: 'https://hooks.example', topics: [] })
  await addMessage(id)
  await watchAfter(30)
  await change(id, { type: 'pull', url: null })
  const { orgId } = harness.scope
  // An attempt that was in flight then has failed since.
  const attempt = { orgId, id: uuidv7(), webhookId: id, messageId: id, topic: 'audits', attempt: 1, reqUrl: '' }
  const ended = { status: 'failure', createdAt: addMs(clock.now(), 15_000) } as const
  await harness.ctx.db
    .insertInto('webhookDelivery')
    .values({ ...attempt, ...ended })
    .execute()
  await watchAfter(23)
  expect(await unfetchedSince(id)).toBeNull()
  await watchAfter(1)
  expect(await unfetchedSince(id)).not.toBeNull()
  await change(id, { enabled: false, secret: 'another' })
  await watchAfter(30)
  const lane = harness.ctx.db.selectFrom('webhookLane').select('failingSince').where('webhookId', '=', id)
  expect(await lane.execute()).toEqual([{ failingSince: null }])
  await change(id, { enabled: true })
  await watchAfter(23)
  expect(await unfetchedSince(id)).toBeNull()
})
