import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { expireMessages } from '../../../src/webhooks/expiry/expire-messages.ts'
import { expireParkedMessages, expireSetAsideEvents } from '../../../src/webhooks/expiry/expire-stored.ts'
import { lockLanes } from '../../../src/webhooks/lanes/store.ts'
import { parkedPortion } from '../../../src/webhooks/replays/store-parked.ts'
import { runExpiry, sweepLanes } from '../../../src/webhooks/tasks.ts'
import { permitRows, refuseRow } from '../../support/database/refuse-row.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness } from '../harness.ts'
import { createRouterTurns } from '../router-turns.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'

const DAY_MS = 24 * 3600e3
const url = 'http://127.0.0.1:9/'
let clock: TestClock
let harness: Harness
beforeEach(async () => {
  clock = createTestClock(new Date('2026-11-20T12:00:00Z'))
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

/** Adds messages to a webhook, each with a topic of its own: t1, t2, ... Its lane is to be swept. */
async function addMessages(webhookId: string, count: number, body = '{}'): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7())
  const at = clock.now()
  await sql`
    insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, due_at, created_at)
    select ${harness.scope.orgId}, m.id, ${webhookId}, 't' || m.place, ${Buffer.from(body)}, 1, ${at}, ${at}
    from unnest(${ids}::uuid[]) with ordinality m (id, place)
  `.execute(harness.ctx.db)
  return ids
}

const addWebhook = (name: string, siteId: string | null = null) =>
  harness.addWebhook({ url, topics: ['audits'], name }, siteId)

/** Lists the parked messages of a webhook in the order in which they are replayed. */
async function parkedIds(webhookId: string): Promise<string[]> {
  const rows = await harness.ctx.db
    .selectFrom('webhookParkedMessage')
    .select('id')
    .where('webhookId', '=', webhookId)
    .orderBy('parkedAt')
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns the largest numbers of messages, and of their bytes, that a transaction has parked. */
async function largestPortion(): Promise<{ messages: number; bytes: number }> {
  const { rows } = await sql<{ messages: number; bytes: number }>`
    select max(messages) as messages, max(bytes) as bytes
    from (
      select count(*)::int as messages, sum(octet_length(body))::int as bytes
      from webhook_parked_message group by xmin::text) p
  `.execute(harness.ctx.db)
  return rows[0] ?? { messages: 0, bytes: 0 }
}

const reports = () => harness.ctx.db.selectFrom('systemEvent').select(['siteId', 'text', 'details']).execute()
const reported = async () => (await reports()).map(({ details }) => details)

const parkedTable = 'webhook_parked_message'

/** Makes the database refuse to park this message, or to delete it when it is parked. */
const refuse = (on: 'insert' | 'delete', id: string) =>
  refuseRow(harness.ctx, { table: parkedTable, on, column: 'id', value: id })

const permit = () => permitRows(harness.ctx, parkedTable)

describe('expireMessages', () => {
  it('parks messages that were not delivered for a week, and adjusts their lanes', async () => {
    const siteId = await harness.addSite('Depot')
    const dead = await addWebhook('Dead', siteId)
    const alive = await addWebhook('Alive')
    await addMessages(dead.id, 2)
    // A ping, which a receiver would have fetched, is not parked.
    const ping = harness.ctx.db.updateTable('webhookMessage').set({ topic: 'ping' })
    await ping.where('id', 'in', await addMessages(dead.id, 1)).execute()
    clock.advance(DAY_MS)
    await addMessages(dead.id, 1)
    await addMessages(alive.id, 1)
    expect(await sweepLanes(harness.ctx)).toBe(2)
    clock.advance(6 * DAY_MS)
    expect(await expireMessages(harness.ctx)).toBe(0)
    clock.advance(1)
    expect(await expireMessages(harness.ctx)).toBe(2)
    expect(await harness.waiting()).toEqual({ messages: 2, pending: 2 })
    const parked = await harness.ctx.db.selectFrom('webhookParkedMessage').select(['webhookId', 'reason']).execute()
    expect(parked).toEqual([1, 2].map(() => ({ webhookId: dead.id, reason: 'expired' })))
    clock.advance(7 * DAY_MS)
    expect(await expireParkedMessages(harness.ctx)).toBe(0)
    clock.advance(1)
    expect(await expireParkedMessages(harness.ctx)).toBe(2)
    const text = expect.stringMatching(/^2 messages of webhook "Dead" have /)
    expect(await reports()).toEqual([{ siteId, text, details: { count: 2, webhook_id: dead.id } }])
    expect(await sweepLanes(harness.ctx)).toBe(0)
  })

  it('parks few messages in each transaction, in their order, and reports them together', async () => {
    const { id } = await addWebhook('Long')
    const { id: large } = await addWebhook('Large')
    const ids = await addMessages(id, 2 * parkedPortion.count + 1)
    await addMessages(large, 5, 'x'.repeat(parkedPortion.bytes / 2))
    // A retry is due last, and is replayed in its place.
    const [retried = ''] = ids
    const later = addMs(clock.now(), 10 * DAY_MS)
    await harness.ctx.db.updateTable('webhookMessage').set({ dueAt: later }).where('id', '=', retried).execute()
    await sweepLanes(harness.ctx)
    clock.advance(7 * DAY_MS + 1)
    const young = await addMessages(id, 1)
    const turns = createRouterTurns(harness.ctx)
    expect(await expireMessages(harness.ctx, undefined, turns.pause)).toBe(ids.length + 5)
    // In each pause the router gets both lanes.
    expect(turns.lanes).toEqual(Array.from({ length: 6 }, () => 2))
    expect(Math.min(...turns.pauses)).toBeGreaterThan(0)
    expect(await parkedIds(id)).toEqual(ids)
    expect(await largestPortion()).toEqual({ messages: parkedPortion.count, bytes: parkedPortion.bytes })
    expect(await harness.waiting()).toEqual({ messages: 1, pending: 1 })
    const counts = [
      { count: ids.length, webhook_id: id },
      { count: 5, webhook_id: large },
    ]
    expect(await reported()).toEqual(expect.arrayContaining(counts))
    expect(await reports()).toHaveLength(2)
    expect(await harness.ctx.db.selectFrom('webhookMessage').select('id').execute()).toEqual([{ id: young[0] }])
    expect([await countBrokenLanes(harness), await sweepLanes(harness.ctx)]).toEqual([0, 0])
  })

  it('continues with the other lanes after a fault, and later where it ended, with the right counts', async () => {
    const { id: faulty } = await addWebhook('Faulty')
    const { id: other } = await addWebhook('Other')
    const [first, second] = faulty < other ? [faulty, other] : [other, faulty]
    const ids = await addMessages(first, 2 * parkedPortion.count)
    await addMessages(second, 3)
    await sweepLanes(harness.ctx)
    // A process has the lane.
    const leaseUntil = addMs(clock.now(), 10 * DAY_MS)
    await harness.ctx.db
      .updateTable('webhookLane')
      .set({ leaseUntil, leasedBy: uuidv7(), nextAt: null })
      .where('webhookId', '=', first)
      .execute()
    clock.advance(7 * DAY_MS + 1)
    await refuse('insert', ids[parkedPortion.count + 7] ?? '')
    await expect(expireMessages(harness.ctx)).rejects.toThrow(/^1 of 2 parts failed$/)
    expect(await parkedIds(first)).toEqual(ids.slice(0, parkedPortion.count))
    expect(await parkedIds(second)).toHaveLength(3)
    expect(await reported()).toEqual([{ count: 3, webhook_id: second }])
    // What is left is counted and due, as after a crash.
    expect(await harness.waiting()).toEqual({ messages: parkedPortion.count, pending: parkedPortion.count })
    expect([await countBrokenLanes(harness), await sweepLanes(harness.ctx)]).toEqual([0, 0])
    await permit()
    clock.advance(3600e3)
    expect(await expireMessages(harness.ctx)).toBe(parkedPortion.count)
    expect(await parkedIds(first)).toEqual(ids)
    expect(await reported()).toEqual([
      { count: 3, webhook_id: second },
      { count: ids.length, webhook_id: first },
    ])
    expect(await harness.waiting()).toEqual({ messages: 0, pending: 0 })
  })

  it('ends after a portion at a stop, and reports it with the rest in the next run', async () => {
    const { id } = await addWebhook('Long')
    const ids = await addMessages(id, parkedPortion.count + 1)
    await sweepLanes(harness.ctx)
    clock.advance(7 * DAY_MS + 1)
    const stopping = new AbortController()
    let expiring = Promise.resolve(0)
    await inTx(harness.ctx, async (tx) => {
      await lockLanes(tx, [{ orgId: harness.scope.orgId, webhookId: id }])
      expiring = expireMessages(harness.ctx, stopping.signal)
      await untilWaiting(harness, 1)
      stopping.abort()
    })
    expect(await expiring).toBe(parkedPortion.count)
    expect(await reported()).toEqual([])
    // The receiver takes the last one meanwhile.
    await harness.ctx.db.deleteFrom('webhookMessage').execute()
    expect(await expireMessages(harness.ctx)).toBe(0)
    expect(await parkedIds(id)).toEqual(ids.slice(0, parkedPortion.count))
    expect(await reported()).toEqual([{ count: parkedPortion.count, webhook_id: id }])
    expect(await expireMessages(harness.ctx)).toBe(0)
    expect(await reports()).toHaveLength(1)
  })
})

describe('expireSetAsideEvents', () => {
  it('deletes events thirty days after they were set aside, and no others', async () => {
    await addWebhook('Alive')
    await harness.audit('set aside')
    await harness.ctx.db.updateTable('webhookOutbox').set({ setAsideAt: clock.now(), setAsideReason: 'test' }).execute()
    await harness.audit('waits')
    clock.advance(30 * DAY_MS)
    expect(await expireSetAsideEvents(harness.ctx)).toBe(0)
    clock.advance(1)
    expect(await expireSetAsideEvents(harness.ctx)).toBe(1)
    expect(await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()).toHaveLength(1)
  })
})

describe('runExpiry', () => {
  it('runs each step whatever happens to the others, in portions, and fails in the end', async () => {
    const { id } = await addWebhook('Faulty')
    const ids = await addMessages(id, 5 * parkedPortion.count)
    await sweepLanes(harness.ctx)
    await harness.audit('set aside')
    await harness.ctx.db.updateTable('webhookOutbox').set({ setAsideAt: clock.now(), setAsideReason: 'test' }).execute()
    clock.advance(30 * DAY_MS + 1)
    await refuse('insert', ids.at(-1) ?? '')
    await expect(runExpiry(harness.ctx)).rejects.toThrow(/^1 of 3 parts failed$/)
    expect(await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()).toEqual([])
    await permit()
    await runExpiry(harness.ctx)
    expect(await parkedIds(id)).toEqual(ids)
    clock.advance(7 * DAY_MS + 3600e3)
    await refuse('delete', ids.at(-1) ?? '')
    await expect(runExpiry(harness.ctx)).rejects.toThrow(/^1 of 3 parts failed$/)
    expect(await parkedIds(id)).toEqual(ids.slice(2000))
    await permit()
    await runExpiry(harness.ctx)
    expect(await parkedIds(id)).toEqual([])
  })
})
