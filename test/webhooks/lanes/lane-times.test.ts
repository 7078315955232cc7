import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { inTx } from '../../../src/platform/database/db.ts'
import { listDueMessages } from '../../../src/webhooks/delivery/store-due.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { reopenLane } from '../../../src/webhooks/lanes/store-breaker.ts'
import { confirmLanes, lockLanes, releaseStrayLeases, rescheduleLane } from '../../../src/webhooks/lanes/store.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { countBrokenLanes } from './broken-lanes.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'

const clock = createTestClock()
const runId = uuidv7()
let harness: Harness
let webhookId: string
beforeEach(async () => {
  ;({ harness } = await startEngine(clock))
  webhookId = (await harness.addWebhook({ url: 'http://127.0.0.1:1/', topics: ['audits'] })).id
})

const key = () => ({ orgId: harness.scope.orgId, webhookId })
const stray = { ofRunId: runId, except: [] }

it.each([
  ['its lease ends', () => inTx(harness.ctx, (tx) => releaseStrayLeases(tx, stray))],
  ['its webhook changes', () => inTx(harness.ctx, (tx) => rescheduleLane(tx, key()))],
  [
    'its receiver is back',
    () => inTx(harness.ctx, (tx) => reopenLane(tx, key(), { now: clock.now(), keepUntil: null })),
  ],
])('a lane becomes due for messages that are being added while %s', async (_what, change) => {
  const { ctx } = harness
  const leaseUntil = new Date(clock.now().getTime() + 60_000)
  await ctx.db
    .updateTable('webhookLane')
    .set({ leaseUntil, leasedBy: runId, failingSince: clock.now(), nextAt: null })
    .execute()
  const message = { ...key(), id: uuidv7(), topic: 'audits', body: Buffer.from('{}'), eventCount: 1, orderKey: null }
  const { changed } = await inTx(ctx, async (tx) => {
    // As the router does for a lane that this run has: it adds the messages, and leaves the time alone.
    await enqueueMessages(tx, [message], clock.now())
    await tx.updateTable('webhookLane').set({ nextAt: null }).execute()
    const changed = change()
    await untilWaiting({ ctx }, 1)
    return { changed }
  })
  await changed
  const lane = await ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
  expect(lane).toMatchObject({ pending: 1, nextAt: clock.now() })
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('ends the lease of a lane that this process has in an earlier epoch only', async () => {
  const { ctx } = harness
  const leaseUntil = new Date(clock.now().getTime() + 60_000)
  await ctx.db.updateTable('webhookLane').set({ leaseUntil, leasedBy: runId, epoch: '7' }).execute()
  const release = (epoch: string) =>
    inTx(ctx, (tx) => releaseStrayLeases(tx, { ofRunId: runId, except: [{ ...key(), epoch }] }))
  expect(await release('7')).toBe(0)
  // The holder of an earlier epoch has not learned yet that it has lost the lane.
  expect(await release('6')).toBe(1)
})

it('extends the lease of a lane that its holder confirms, unless it is locked or its webhook has changed', async () => {
  const { ctx } = harness
  const minutes = (count: number): Date => new Date(clock.now().getTime() + count * 60_000)
  await ctx.db
    .updateTable('webhookLane')
    .set({ leaseUntil: minutes(1), leasedBy: runId, epoch: '7' })
    .execute()
  const version = async (): Promise<string> => {
    const { rows } = await sql<{ version: string }>`select xmin::text as version from webhook`.execute(ctx.db)
    return rows[0]?.version ?? ''
  }
  const known = { ...key(), epoch: '7', version: await version(), extend: true, slotSeconds: 2 }
  const confirm = (lane: typeof known, until: number) =>
    confirmLanes(ctx.db, { lanes: [lane], now: clock.now(), leaseUntil: minutes(until) })
  const lane = () => ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
  expect(await confirm(known, 2)).toEqual([{ ...key(), isExtended: true }])
  expect(await lane()).toMatchObject({ leaseUntil: minutes(2), epoch: '7', vtime: 2 })
  expect(await confirm({ ...known, extend: false }, 3)).toEqual([{ ...key(), isExtended: false }])
  await inTx(ctx, async (tx) => {
    await lockLanes(tx, [key()])
    expect(await confirm(known, 3)).toEqual([{ ...key(), isExtended: false }])
  })
  await ctx.db
    .updateTable('webhook')
    .set({ modifiedAt: minutes(0) })
    .execute()
  expect(await confirm(known, 3)).toEqual([])
  expect(await confirm({ ...known, version: await version(), epoch: '6' }, 3)).toEqual([])
  expect(await lane()).toMatchObject({ leaseUntil: minutes(2), vtime: 2 })
})

it('lists due messages only for the holder of the present epoch, and none of a disabled webhook', async () => {
  const { ctx } = harness
  const message = { ...key(), id: uuidv7(), topic: 'audits', body: Buffer.from('{}'), eventCount: 1, orderKey: null }
  await inTx(ctx, (tx) => enqueueMessages(tx, [message], clock.now()))
  await ctx.db.updateTable('webhookLane').set({ epoch: '7' }).execute()
  const listed = async (epoch: string) => {
    const limits = { now: clock.now(), maxBytes: 100, limit: 10 }
    const found = await listDueMessages(ctx.db, [{ ...key(), epoch }], limits)
    return found.get(webhookId)?.messages.map(({ id }) => id) ?? []
  }
  expect([await listed('7'), await listed('6')]).toEqual([[message.id], []])
  await ctx.db.updateTable('webhook').set({ enabled: false }).execute()
  expect(await listed('7')).toEqual([])
})
