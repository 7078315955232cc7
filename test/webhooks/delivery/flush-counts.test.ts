import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import type { Attempt } from '../../../src/webhooks/delivery/deliver-message.ts'
import { createFlusher } from '../../../src/webhooks/delivery/flush.ts'
import { createSpareCount } from '../../../src/webhooks/lanes/spare-count.ts'
import { lockLanes, recountLanes } from '../../../src/webhooks/lanes/store.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type FlushWorld, openFlushWorld, tried } from './flush-world.ts'

let flush: FlushWorld
beforeEach(async () => {
  flush = await openFlushWorld()
})
afterEach(() => flush.harness.close())

it('writes the count of a held lane only when the row counts far too many, and of a lost one at once', async () => {
  const lane = await flush.claimed(64)
  const [first, second, ...others] = lane.messages.map(({ id }) => id)
  const push = (ids: readonly (string | undefined)[]) =>
    Promise.all(
      ids.map((id = '') => flusher.add({ lane, spare: flush.spare, outcome: tried(flush.delivered(lane, id)) })),
    )
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const { ctid } = await flush.laneVersion()
  await push([first, second])
  expect(await flush.laneVersion()).toEqual({ pending: 64, ctid })
  // These messages were added and deleted meanwhile.
  await flush.harness.ctx.db.updateTable('webhookLane').set({ pending: 264 }).execute()
  flush.spare.add(200)
  await push(others.slice(0, 2))
  expect(await flush.laneRow()).toMatchObject({ pending: 60 })
  // The router has used one of them, and the lane was lost.
  flush.spare.add(3)
  await flush.harness.ctx.db
    .updateTable('webhookLane')
    .set({ epoch: sql`epoch + 1` })
    .execute()
  await push(others.slice(2, 4))
  expect(await flush.laneRow()).toMatchObject({ pending: 58 })
  expect(flush.spare.take(Infinity)).toBe(3)
  flush.spare.add(3)
  const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
  // Nobody has counted the messages since, so the row still counts them too much.
  await flusher.add({ lane, spare: flush.spare, outcome: { release } })
  expect(await flush.laneRow()).toMatchObject({ pending: 55, leaseUntil: expect.any(Date) })
  flush.spare.add(3)
  await inTx(flush.harness.ctx, (tx) => recountLanes(tx, [lane]))
  await flusher.add({ lane, spare: flush.spare, outcome: { release } })
  expect([await flush.laneRow(), flush.spare.isZero()]).toEqual([expect.objectContaining({ pending: 58 }), true])
})

it('corrects the count of a lane that stays leased', async () => {
  const lane = await flush.claimed(3)
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const [first, second] = lane.messages.map(({ id }) => flush.delivered(lane, id))
  if (first === undefined || second === undefined) throw new Error('no messages')
  await flusher.add({ lane, spare: flush.spare, outcome: tried(first) })
  expect([await flush.laneRow(), flush.spare.isZero()]).toEqual([expect.objectContaining({ pending: 3 }), false])
  await Promise.all([
    flusher.add({ lane, spare: flush.spare, outcome: tried(second) }),
    flusher.add({ lane, spare: flush.spare, outcome: { corrects: true } }),
  ])
  expect(await flush.laneRow()).toMatchObject({ pending: 1, leaseUntil: expect.any(Date) })
  expect(flush.spare.isZero()).toBe(true)
})

it.each([[true], [false]])(
  'subtracts from a count that is made while results wait only what they delete; corrects: %j',
  async (corrects) => {
    const lane = await flush.claimed(3)
    const flusher = createFlusher(flush.harness.ctx, flush.counters)
    const [first, second] = lane.messages.map(({ id }) => flush.delivered(lane, id))
    if (first === undefined || second === undefined) throw new Error('no messages')
    await flusher.add({ lane, spare: flush.spare, outcome: tried(first) })
    let written: Promise<unknown> = Promise.resolve()
    await inTx(flush.harness.ctx, async (tx) => {
      await lockLanes(tx, [lane])
      written = Promise.all([
        flusher.add({ lane, spare: flush.spare, outcome: tried(second) }),
        corrects ? flusher.add({ lane, spare: flush.spare, outcome: { corrects: true } }) : null,
      ])
      await untilWaiting(flush.harness, 1)
      await recountLanes(tx, [lane])
    })
    await written
    expect((await flush.harness.waiting()).messages).toBe(1)
    expect(await flush.laneRow()).toMatchObject({ pending: 1 })
  },
)

it.each([
  { isRecounted: false, fails: false },
  { isRecounted: false, fails: true },
  { isRecounted: true, fails: false },
  { isRecounted: true, fails: true },
])(
  'corrects the count of a lane that was lost beside the results of its next holder: %j',
  async ({ isRecounted, fails }) => {
    const lane = await flush.claimed(4)
    const [first, second, third] = lane.messages.map(({ id }) => flush.delivered(lane, id))
    if (first === undefined || second === undefined || third === undefined) throw new Error('no messages')
    const flusher = createFlusher(flush.harness.ctx, flush.counters)
    await flusher.add({ lane, spare: flush.spare, outcome: tried(first) })
    await flusher.add({ lane, spare: flush.spare, outcome: tried(second) })
    expect(await flush.laneRow()).toMatchObject({ pending: 4 })
    if (isRecounted) await inTx(flush.harness.ctx, (tx) => recountLanes(tx, [lane]))
    const lost = await flush.harness.ctx.db
      .updateTable('webhookLane')
      .set({ epoch: sql`epoch + 1` })
      .returning('epoch')
      .executeTakeFirstOrThrow()
    const next = { lane: { ...lane, epoch: lost.epoch }, spare: createSpareCount(200) }
    const release = { failures: 0, openUntil: null, failingSince: null, slotSeconds: 1 }
    const later = { status: 'failure', final: false, nextAttempt: flush.clock.now() } as const
    const attempt: Attempt = fails ? { ...third, record: { ...third.record, ...later } } : third
    await Promise.all([
      flusher.add({ lane, spare: flush.spare, outcome: { release } }),
      flusher.add({ ...next, outcome: tried(attempt) }),
    ])
    const waiting = fails ? 2 : 1
    expect(await flush.harness.waiting()).toEqual({ messages: waiting, pending: waiting })
    expect([flush.spare.isZero(), next.spare.isZero()]).toEqual([true, true])
  },
)

it('keeps the count of a lane whose results are written together with failures', async () => {
  const lane = await flush.claimed(3)
  const [first, second, third] = lane.messages.map(({ id }) => flush.delivered(lane, id))
  if (first === undefined || second === undefined || third === undefined) throw new Error('no messages')
  const later = new Date(flush.clock.now().getTime() + 5000)
  const failed: Attempt = {
    ...second,
    verdict: { kind: 'retry', afterMs: 5000 },
    record: { ...second.record, status: 'failure', statusCode: 500, final: false, nextAttempt: later },
  }
  const flusher = createFlusher(flush.harness.ctx, flush.counters)
  const { ctid } = await flush.laneVersion()
  await Promise.all(
    [first, failed].map((attempt) => flusher.add({ lane, spare: flush.spare, outcome: tried(attempt) })),
  )
  expect(await flush.laneVersion()).toEqual({ pending: 3, ctid })
  const release = { failures: 1, openUntil: null, failingSince: flush.clock.now(), slotSeconds: 1 }
  await Promise.all([
    flusher.add({
      lane,
      spare: flush.spare,
      outcome: tried({ ...failed, record: { ...failed.record, id: uuidv7() } }),
    }),
    flusher.add({ lane, spare: flush.spare, outcome: { release } }),
  ])
  expect(await flush.laneRow()).toMatchObject({ pending: 2, leaseUntil: null, failures: 1 })
  expect(await flush.harness.waiting()).toEqual({ messages: 2, pending: 2 })
})
