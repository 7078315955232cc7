import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { replaceWebhookKey } from '../../../src/webhooks/signing/replace-signing-key.ts'
import { type Claimed, type LaneClaim, claimLanes } from '../../../src/webhooks/delivery/store.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { type Harness, createHarness } from '../harness.ts'
import { laneClaim } from '../lane-claim.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'

const clock = createTestClock()
let harness: Harness
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

const hook = { url: 'http://127.0.0.1:1/', topics: ['audits'], ed25519_signatures: true }

/** Creates a webhook with due messages of these sizes. */
const addLane = (...sizes: readonly number[]): Promise<string> => addLaneOf(harness.scope, ...sizes)

async function addLaneOf(scope: OrgScope, ...sizes: readonly number[]): Promise<string> {
  const { orgId } = scope
  const { id: webhookId } = await harness.addWebhook(hook, null, scope)
  const messages = sizes.map((size) => ({
    orgId,
    id: uuidv7(),
    webhookId,
    topic: 'audits',
    body: Buffer.alloc(size, 'x'),
    eventCount: 1,
    orderKey: null,
  }))
  await inTx(harness.ctx, async (tx) => {
    await enqueueMessages(tx, messages, clock.now())
  })
  return webhookId
}

const now = clock.now()
const all = laneClaim(clock)

const claim = (limits: Partial<LaneClaim> = {}) => inTx(harness.ctx, (tx) => claimLanes(tx, { ...all, ...limits }))

const sizesOf = ({ lanes }: Claimed) => lanes.map(({ messages }) => messages.map(({ body }) => body.length))

it('claims what becomes due until the lanes are locked, because later messages are sent without a claim', async () => {
  await addLane(1, 2)
  await harness.ctx.db
    .updateTable('webhookMessage')
    .set({ dueAt: addMs(now, 5) })
    .where(sql`octet_length(body)`, '=', 2)
    .execute()
  let calls = 0
  const passing = { now: () => addMs(now, 10 * calls++) }
  expect(sizesOf(await claim({ clock: passing }))).toEqual([[1, 2]])
})

it('claims at most the requested number of bytes, and leaves the other lanes to the next claim', async () => {
  for (let lane = 0; lane < 10; lane += 1) await addLane(1_000_000)
  const claimed: number[] = []
  for (;;) {
    const part = await claim()
    claimed.push(...sizesOf(part).flat())
    expect(part.lanes.length).toBeLessThanOrEqual(4)
    expect(part.lanes.every(({ messages }) => messages.length === 1)).toBe(true)
    if (!part.hasMore) break
  }
  expect(claimed).toHaveLength(10)
})

it('gives every lane its first message before any lane gets a second one', async () => {
  await addLane(100, 100, 100)
  await addLane(100, 100, 100)
  const part = await claim({ maxBytes: 350 })
  expect(
    sizesOf(part)
      .map((sizes) => sizes.length)
      .toSorted((a, b) => a - b),
  ).toEqual([1, 2])
  expect(part.hasMore).toBe(false)
})

it('claims a message that exceeds the limits alone', async () => {
  await addLane(5_000_000, 10)
  await addLane(10)
  const first = await claim()
  expect(sizesOf(first)).toEqual([[5_000_000]])
  expect(first.hasMore).toBe(true)
  expect(sizesOf(await claim())).toEqual([[10]])
})

it('claims a lane without a due message, so that its next due time is corrected when it is released', async () => {
  const webhookId = await addLane()
  await harness.ctx.db.updateTable('webhookLane').set({ nextAt: now }).where('webhookId', '=', webhookId).execute()
  expect(sizesOf(await claim())).toEqual([[]])
})

it('claims no more lanes of an organization than its limit, and no excluded lanes', async () => {
  const ids = [await addLane(1), await addLane(1), await addLane(1), await addLane(1)]
  const other = await claim({ onlyWebhookIds: ids.slice(0, 3), exceptWebhookIds: ids.slice(0, 1), lanesOf: () => 1 })
  expect(other.lanes.map(({ webhookId }) => ids.indexOf(webhookId))).toEqual([
    expect.toSatisfy((at) => at === 1 || at === 2),
  ])
  expect(other.hasMore).toBe(true)
  expect((await claim({ busyOrgIds: [harness.scope.orgId] })).lanes).toEqual([])
  expect((await claim()).lanes).toHaveLength(3)
})

it('lets organizations take turns, whatever their numbers of lanes, and counts the lanes that they hold', async () => {
  const [small, held] = [await harness.addOrg(), await harness.addOrg()]
  for (let lane = 0; lane < 6; lane += 1) await addLane(1)
  const ofSmall = await addLaneOf(small, 1)
  const ofHeld = new Set([await addLaneOf(held, 1), await addLaneOf(held, 1)])
  // It has been served most.
  await harness.ctx.db.updateTable('webhookLane').set({ vtime: 1000 }).where('webhookId', '=', ofSmall).execute()
  const holds = { held: [{ orgId: held.orgId, lanes: 3 }] }
  const idsOf = ({ lanes }: Claimed) => lanes.map(({ webhookId }) => webhookId)
  const first = idsOf(await claim({ limit: 2, ...holds }))
  expect(first).toContain(ofSmall)
  expect(first).toHaveLength(2)
  const second = idsOf(await claim({ limit: 2, ...holds }))
  const third = idsOf(await claim({ limit: 4, ...holds }))
  expect([...second, ...third].filter((id) => ofHeld.has(id)).length).toBeGreaterThan(0)
  expect(second.filter((id) => ofHeld.has(id))).toEqual([])
})

it('claims first what was served least, among the lanes of an organization and among organizations', async () => {
  const ids = [await addLane(1), await addLane(1), await addLaneOf(await harness.addOrg(), 1)]
  for (const [index, vtime] of [20, 10, 30].entries()) {
    const webhookId = ids[index] ?? ''
    // Those that were served more have waited longer.
    const nextAt = addMs(now, -vtime)
    await harness.ctx.db.updateTable('webhookLane').set({ vtime, nextAt }).where('webhookId', '=', webhookId).execute()
  }
  const claimed: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const { lanes } = await claim({ limit: 1 })
    claimed.push(...lanes.map(({ webhookId }) => webhookId))
  }
  expect(claimed).toEqual([ids[1], ids[0], ids[2]])
})

it('keeps a new signing key waiting for a claim that has read the former ones', async () => {
  const webhookId = await addLane(1)
  const { replacing, isReplaced } = await inTx(harness.ctx, async (tx) => {
    const { lanes } = await claimLanes(tx, all)
    expect(lanes).toHaveLength(1)
    const state = { isReplaced: false }
    const replacing = replaceWebhookKey(harness.ctx, harness.scope, webhookId).then(() => (state.isReplaced = true))
    await waitUntil('the replacement waits', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(harness.ctx.db)
      return rows.length > 0
    })
    return { replacing, isReplaced: state.isReplaced }
  })
  expect([isReplaced, await replacing]).toEqual([false, true])
})
