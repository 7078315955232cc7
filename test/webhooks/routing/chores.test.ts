import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/database/db.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { preparePartitions } from '../../../src/platform/database/partitions.ts'
import { keptDays } from '../../../src/webhooks/partitions.ts'
import { sweepLanes } from '../../../src/webhooks/tasks.ts'
import { useNewDatabases } from '../../support/database/lent-databases.ts'
import { refuseRow } from '../../support/database/refuse-row.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type Harness, createHarness } from '../harness.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'

const DAY_MS = 24 * 3600e3

useNewDatabases()

let clock: TestClock
let harness: Harness

beforeEach(async () => {
  clock = createTestClock(new Date('2026-11-20T12:00:00Z'))
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

async function partitions(table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table}::regclass order by 1
  `.execute(harness.ctx.db)
  return rows.map(({ name }) => name.replace(`${table}_`, ''))
}

async function addDelivery(createdAt: Date, db: Db = harness.ctx.db): Promise<void> {
  const { orgId } = harness.scope
  const id = uuidv7()
  await db
    .insertInto('webhookDelivery')
    .values({
      orgId,
      id,
      createdAt,
      webhookId: uuidv7(),
      messageId: uuidv7(),
      siteId: null,
      topic: 'audits',
      attempt: 1,
      status: 'success',
      statusCode: 200,
      error: null,
      reqUrl: 'http://127.0.0.1/',
    })
    .execute()
  const exchange = { reqHeaders: '{}', reqPayload: '{}', respHeaders: null, respBody: null, remoteAddress: null }
  await db
    .insertInto('webhookBody')
    .values({ orgId, deliveryId: id, createdAt, ...exchange })
    .execute()
}

async function placesOf(table: string): Promise<string[]> {
  const { rows } = await sql<{ place: string }>`
    select tableoid::regclass::text as place from ${sql.table(table)} order by created_at
  `.execute(harness.ctx.db)
  return rows.map(({ place }) => place.replace(`${table}_`, ''))
}

async function addMessage(webhookId: string): Promise<void> {
  const at = clock.now()
  const { orgId } = harness.scope
  const message = { orgId, id: uuidv7(), webhookId, topic: 'audits', body: Buffer.from('{}'), eventCount: 1 }
  await harness.ctx.db
    .insertInto('webhookMessage')
    .values({ ...message, dueAt: at, createdAt: at })
    .execute()
}

describe('preparePartitions', () => {
  it('creates the partitions of today and the next three days, once', async () => {
    await preparePartitions(harness.ctx, keptDays)
    await preparePartitions(harness.ctx, keptDays)
    const expected = ['20261120', '20261121', '20261122', '20261123', 'default']
    expect(await partitions('webhook_delivery')).toEqual(expected)
    expect(await partitions('webhook_body')).toEqual(expected)
  })

  it('moves rows out of the default partition', async () => {
    await addDelivery(clock.now())
    await addDelivery(new Date('2026-11-20T23:59:59.999Z'))
    await addDelivery(new Date('2026-11-21T00:00:00Z'))
    expect(await placesOf('webhook_delivery')).toEqual(['default', 'default', 'default'])
    await preparePartitions(harness.ctx, keptDays)
    expect(await placesOf('webhook_delivery')).toEqual(['20261120', '20261120', '20261121'])
    expect(await placesOf('webhook_body')).toEqual(['20261120', '20261120', '20261121'])
  })

  it('moves rows that are being written, too', async () => {
    const preparing = await harness.ctx.db.transaction().execute(async (writer) => {
      await addDelivery(clock.now(), writer)
      const started = preparePartitions(harness.ctx, keptDays)
      await untilWaiting(harness, 1)
      return { started }
    })
    await preparing.started
    expect(await placesOf('webhook_delivery')).toEqual(['20261120'])
  })

  it('keeps deliveries for thirty days and bodies for seven', { timeout: 120_000 }, async () => {
    await addDelivery(new Date(clock.now().getTime() - 100 * DAY_MS))
    for (let day = 0; day < 40; day += 1) {
      // Partitions are there for three days ahead.
      if (day % 4 === 0) await preparePartitions(harness.ctx, keptDays)
      await addDelivery(clock.now())
      clock.advance(DAY_MS)
    }
    await preparePartitions(harness.ctx, keptDays)
    // The partitions of today and three days ahead, of the retained days, and the default one.
    expect(await partitions('webhook_delivery')).toHaveLength(30 + 4 + 1)
    expect(await partitions('webhook_body')).toHaveLength(7 + 4 + 1)
    expect(await placesOf('webhook_delivery')).toHaveLength(30)
    expect(await placesOf('webhook_body')).toHaveLength(7)
  })

  it('may run in several servers at once', async () => {
    await Promise.all(Array.from({ length: 3 }, () => preparePartitions(harness.ctx, keptDays)))
    expect(await partitions('webhook_body')).toHaveLength(5)
  })
})

describe('sweepLanes', () => {
  it('finds nothing while all lanes are correct, and repairs those that are not', async () => {
    const webhook = await harness.addWebhook({ url: 'http://127.0.0.1:9/', topics: ['audits'] })
    expect(await sweepLanes(harness.ctx)).toBe(0)
    await addMessage(webhook.id)
    expect(await sweepLanes(harness.ctx)).toBe(1)
    const lane = await harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
    expect(lane).toMatchObject({ pending: 1, nextAt: clock.now() })
    expect(await sweepLanes(harness.ctx)).toBe(0)
  })

  it('continues with the other lanes when one can not be corrected, and fails in the end', async () => {
    const body = { url: 'http://127.0.0.1:9/', topics: ['audits'] }
    const webhooks = [await harness.addWebhook(body), await harness.addWebhook(body)]
    for (const { id } of webhooks) await addMessage(id)
    const [first = '', second = ''] = webhooks.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))
    const { db } = harness.ctx
    await refuseRow(harness.ctx, { table: 'webhook_lane', on: 'update', column: 'webhook_id', value: first })
    await expect(sweepLanes(harness.ctx)).rejects.toThrow(/^1 of 2 parts failed$/)
    const lanes = db.selectFrom('webhookLane').select(['webhookId', 'pending']).orderBy('webhookId')
    expect(await lanes.execute()).toEqual([
      { webhookId: first, pending: 0 },
      { webhookId: second, pending: 1 },
    ])
    await sql`drop trigger refuse on webhook_lane`.execute(db)
    expect(await sweepLanes(harness.ctx)).toBe(1)
  })

  it('corrects the count of a lane whose holder has died, which is not a defect', async () => {
    const webhook = await harness.addWebhook({ url: 'http://127.0.0.1:9/', topics: ['audits'] })
    await addMessage(webhook.id)
    await sweepLanes(harness.ctx)
    const leased = { pending: 5, leaseUntil: new Date(clock.now().getTime() + 1000), leasedBy: uuidv7() }
    await harness.ctx.db.updateTable('webhookLane').set(leased).execute()
    expect(await sweepLanes(harness.ctx)).toBe(0)
    expect(await harness.waiting()).toEqual({ messages: 1, pending: 5 })
    await harness.ctx.db.updateTable('webhookLane').set({ leaseUntil: null, leasedBy: null }).execute()
    expect(await sweepLanes(harness.ctx)).toBe(0)
    expect(await harness.waiting()).toEqual({ messages: 1, pending: 1 })
  })

  it('serves a lane whose lease has expired with its holder, which is not a defect', async () => {
    const webhook = await harness.addWebhook({ url: 'http://127.0.0.1:9/', topics: ['audits'] })
    await addMessage(webhook.id)
    // Its holder knew of the message, so the lane did not have to become due for it.
    const leased = { pending: 1, nextAt: null, leaseUntil: addMs(clock.now(), 60_000), leasedBy: uuidv7() }
    await harness.ctx.db.updateTable('webhookLane').set(leased).execute()
    clock.advance(120_000)
    expect(await sweepLanes(harness.ctx)).toBe(0)
    const lane = await harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
    expect(lane).toMatchObject({ pending: 1, leaseUntil: null, leasedBy: null })
    expect(lane.nextAt).not.toBeNull()
  })

  it('finds a defect of a lane although its lease has expired', async () => {
    const webhook = await harness.addWebhook({ url: 'http://127.0.0.1:9/', topics: ['audits'] })
    await addMessage(webhook.id)
    const leased = { pending: 0, nextAt: null, leaseUntil: clock.now(), leasedBy: uuidv7() }
    await harness.ctx.db.updateTable('webhookLane').set(leased).execute()
    expect(await sweepLanes(harness.ctx)).toBe(1)
  })
})
