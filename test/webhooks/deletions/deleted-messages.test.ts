import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { deleteOrg } from '../../../src/removal/delete-org.ts'
import { type Db, inTx } from '../../../src/platform/database/db.ts'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { deleteMessagesOfDeleted } from '../../../src/webhooks/deletions/deletions.worker.ts'
import { deleteWaitingMessages, deletedPortion } from '../../../src/webhooks/deletions/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { countReads, reportReads } from '../../support/database/reads.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'

/** More messages than two portions have. */
const MESSAGES = 2500
const LARGE_BYTES = 1024 * 1024

const clock = createTestClock()
let harness: Harness
let webhookId: string
beforeAll(async () => {
  harness = await createHarness(clock)
})
beforeEach(async () => {
  webhookId = await addWebhook()
})
afterEach(async () => {
  await harness.ctx.db.deleteFrom('webhook').execute()
  await removeMessages()
})
afterAll(() => harness.close())

const addWebhook = async () => (await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['alarms'] })).id

async function addMessages(count: number, of = webhookId, body = Buffer.from('{}')): Promise<void> {
  const { ctx, scope } = harness
  const message = { orgId: scope.orgId, webhookId: of, topic: 'audits', body, eventCount: 1, orderKey: null }
  const messages = Array.from({ length: count }, () => ({ ...message, id: uuidv7() }))
  await inTx({ db: ctx.keyDb, wakes: ctx.wakes }, (tx) => enqueueMessages(tx, messages, clock.now()))
}

/** Adds messages that wait, and as many that are parked. */
async function addBoth(of = webhookId): Promise<void> {
  await addMessages(MESSAGES, of)
  await sql`
    insert into webhook_parked_message (org_id, id, webhook_id, topic, body, event_count, attempt, reason, created_at, parked_at)
    select org_id, id, webhook_id, topic, body, event_count, 1, 'expired', created_at, created_at from webhook_message
    where webhook_id = ${of}`.execute(harness.ctx.db)
}

const remove = () => deleteWebhook(harness.ctx, harness.scope, webhookId)
const removeMessages = () => deleteMessagesOfDeleted(harness.ctx, { pauseFactor: 0 })
const deletePortion = () => {
  const lane = { orgId: harness.scope.orgId, webhookId }
  return inTx(harness.ctx, (tx) => deleteWaitingMessages(tx, lane, null))
}

/** The rows of messages by the webhooks that they are of, and the deleted webhooks that are remembered. */
async function rows() {
  const { db } = harness.ctx
  const waiting = await db.selectFrom('webhookMessage').select('webhookId').execute()
  const parked = await db.selectFrom('webhookParkedMessage').select('webhookId').execute()
  const deletions = await db.selectFrom('webhookDeletion').select('webhookId').execute()
  const ids = (all: readonly { readonly webhookId: string }[]) => all.map((one) => one.webhookId)
  return { waiting: ids(waiting), parked: ids(parked), deletions: ids(deletions) }
}

it('deletes a webhook in a statement that reads none of its messages', async () => {
  await addBoth()
  const { db } = harness.ctx
  const tables = ['webhook_message', 'webhook_parked_message']
  const read = await db.connection().execute(async (one) => {
    const before = await reportedReads(one, tables)
    await sql`delete from webhook where id = ${webhookId}`.execute(one)
    return (await reportedReads(one, tables)) - before
  })
  expect(read).toBe(0)
  const left = await rows()
  expect([left.waiting.length, left.parked.length, left.deletions]).toEqual([MESSAGES, MESSAGES, [webhookId]])
})

it('deletes messages of a deleted webhook in portions of so many rows and bytes', async () => {
  await addMessages(MESSAGES)
  const { count, bytes } = deletedPortion
  const last = MESSAGES - 2 * count
  expect([await deletePortion(), await deletePortion(), await deletePortion(), await deletePortion()]).toMatchObject(
    [count, count, last, 0].map((deleted) => ({ deleted })),
  )
  await addMessages(2 * (bytes / LARGE_BYTES), webhookId, Buffer.alloc(LARGE_BYTES, '"'))
  expect(await deletePortion()).toMatchObject({ deleted: bytes / LARGE_BYTES })
})

it('reads none of the messages of other webhooks when it deletes those of one', async () => {
  await addMessages(MESSAGES, await addWebhook())
  await addMessages(1)
  await remove()
  const read = await harness.ctx.db.connection().execute(async (db) => {
    const before = await reportedReads(db, ['webhook_message'])
    await deleteMessagesOfDeleted({ ...harness.ctx, db }, { pauseFactor: 0 })
    return (await reportedReads(db, ['webhook_message'])) - before
  })
  expect(read).toBeLessThan(100)
  expect((await rows()).deletions).toEqual([])
})

it('goes on after a run that has ended between two portions, and leaves nothing', async () => {
  const other = await addWebhook()
  await addMessages(1, other)
  await addBoth()
  await remove()
  await deleteMessagesOfDeleted(harness.ctx, { signal: AbortSignal.abort(), pauseFactor: 0 })
  const left = await rows()
  expect(left.waiting.filter((id) => id === webhookId)).toHaveLength(MESSAGES - deletedPortion.count)
  expect(left.deletions).toEqual([webhookId])
  const workers = await harness.start()
  await waitUntil('all are deleted', async () => (await rows()).deletions.length === 0)
  await workers.stop()
  expect(await rows()).toEqual({ waiting: [other], parked: [], deletions: [] })
})

it('deletes what another transaction had locked in a later run', async () => {
  await addMessages(3)
  const { db } = harness.ctx
  const [locked] = await db.selectFrom('webhookMessage').select('id').execute()
  await remove()
  await inTx(harness.ctx, async (tx) => {
    await sql`select from webhook_message where id = ${locked?.id} for update`.execute(tx)
    await removeMessages()
  })
  expect(await rows()).toEqual({ waiting: [webhookId], parked: [], deletions: [webhookId] })
  await removeMessages()
  expect(await rows()).toEqual({ waiting: [], parked: [], deletions: [] })
})

it('deletes the messages of all webhooks of a deleted organization', async () => {
  await addBoth()
  await addMessages(1, await addWebhook())
  await deleteOrg(harness.ctx, harness.scope)
  expect((await rows()).deletions).toHaveLength(2)
  await removeMessages()
  expect(await rows()).toEqual({ waiting: [], parked: [], deletions: [] })
})

/** Counts the rows of tables, and the entries of their indexes, that have been read. */
async function reportedReads(db: Db, tables: readonly string[]): Promise<number> {
  await reportReads(db)
  return countReads(db, { tables, unit: 'tuples_returned' })
}
