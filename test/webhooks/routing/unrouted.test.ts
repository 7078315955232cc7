import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { appendAudit } from '../../../src/events/append.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type LaneClock, createLaneClock } from '../lane-clock.ts'
import {
  type Receiver,
  allValid,
  holdAnswers,
  releaseAnswers,
  signaturesOf,
  startReceiver,
  status,
} from '../receiver.ts'
import { crashAfter, holdLane, untilWritten } from './held-lane.ts'

const clock = createTestClock()
const secret = 'unrouted'
const gathering = { topics: ['audits'], secret }
const single = { ...gathering, single_event_per_message: true }
let laneClock: LaneClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  laneClock = createLaneClock()
  ;({ harness, receiver } = await startEngine(clock, laneClock.options))
})
afterEach(() => void vi.useRealTimers())

const events = () => harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
const messages = () => harness.ctx.db.selectFrom('webhookMessage').select(['id', 'attempt', 'body']).execute()
const idOf = ({ headers }: Receiver['received'][number]) => String(headers['webhook-id'])
const textsOf = ({ received }: Receiver) => received.map(({ events: of }) => of.map(({ message }) => String(message)))
const openLane = (body: Record<string, unknown> = single) => holdLane({ harness, receiver }, body)

it('sends an event of a held lane with its own id and writes no message', async () => {
  await openLane()
  const held = holdAnswers(receiver)
  await harness.audit('second')
  await receiver.waitFor(2)
  const [event] = await events()
  const [, second] = receiver.received
  if (second === undefined) throw new Error('nothing received')
  expect([idOf(second), await messages()]).toEqual([event?.id, []])
  expect(signaturesOf(second, secret)).toEqual(allValid)
  held[0]?.writeHead(200).end()
  await untilWritten(harness)
  const records = await harness.ctx.db.selectFrom('webhookDelivery').select(['messageId', 'attempt']).execute()
  expect(records).toContainEqual({ messageId: event?.id, attempt: 1 })
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('keeps events that a held lane can not start at once, and sends them without routing them', async () => {
  await openLane()
  const held = holdAnswers(receiver)
  const names = Array.from({ length: 12 }, (_, index) => `m${index}`)
  for (const name of names) await harness.audit(name)
  await receiver.waitFor(3)
  const ids = (await harness.ctx.db.selectFrom('webhookOutbox').select('id').orderBy('id').execute()).map(
    ({ id }) => id,
  )
  expect([ids.length, await messages(), receiver.received.length]).toEqual([12, [], 3])
  receiver.answer(status(200))
  releaseAnswers(held)
  await receiver.waitFor(13)
  await untilWritten(harness)
  expect(new Set(receiver.received.slice(1).map(idOf))).toEqual(new Set(ids))
  expect(new Set(textsOf(receiver).flat())).toEqual(new Set(['first', ...names]))
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('routes the events that wait in a lane when its webhook changes', async () => {
  const other = await startReceiver()
  const { id } = await openLane()
  const held = holdAnswers(receiver)
  const names = Array.from({ length: 6 }, (_, index) => `m${index}`)
  for (const name of names) await harness.audit(name)
  await receiver.waitFor(3)
  await updateWebhook(harness.ctx, harness.scope, { id, body: { url: other.url }, outbound: harness.outbound })
  releaseAnswers(held)
  // The last one reports the change.
  await other.waitFor(5)
  await untilWritten(harness)
  expect(textsOf(receiver).flat().toSorted()).toEqual(['first', 'm0', 'm1'])
  expect(textsOf(other).flat().slice(0, 4)).toEqual(names.slice(2))
  await other.kill()
})

it('keeps the order of events that wait in a lane and of messages behind them when the lane closes', async () => {
  await openLane()
  const held = holdAnswers(receiver)
  for (let index = 0; index < 5; index += 1) await harness.audit(`m${index}`)
  await receiver.waitFor(3)
  clock.advance(10)
  // The long events of a commit with several are routed.
  const after = { notes: 'x'.repeat(5000) }
  await inTx(harness.ctx, async (tx) => {
    for (const message of ['m5', 'm6']) await appendAudit(tx, harness.scope, { message, after, at: clock.now() })
  })
  await waitUntil('two are routed', async () => (await messages()).length === 2)
  clock.advance(10)
  receiver.answer(status(200))
  for (const response of held) response.writeHead(429, { 'retry-after': '5' }).end()
  await waitUntil('the others wait in the database', async () => (await events()).length === 0)
  const waiting = await harness.ctx.db
    .selectFrom('webhookMessage')
    .select(['body', 'attempt'])
    .orderBy('dueAt')
    .orderBy('id')
    .execute()
  const textOf = ({ body }: { readonly body: Buffer }): string => /"message": ?"(\w+)"/.exec(body.toString())?.[1] ?? ''
  expect(waiting.filter(({ attempt }) => attempt === 0).map(textOf)).toEqual(['m2', 'm3', 'm4', 'm5', 'm6'])
  await waitUntil('everything arrived', () => {
    clock.advance(60_000)
    harness.wake()
    return receiver.received.length === 10
  })
  await untilWritten(harness)
  expect(new Set(textsOf(receiver).flat()).size).toBe(8)
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('makes a message of an event whose first attempt has failed, with the same id and body', async () => {
  await openLane()
  receiver.answer(status(500))
  await harness.audit('second')
  await receiver.waitFor(2)
  await waitUntil('rescheduled', async () => (await messages()).some(({ attempt }) => attempt === 1))
  expect([await events(), (await harness.waiting()).messages]).toEqual([[], 1])
  receiver.answer(status(200))
  await waitUntil('sent again', () => {
    clock.advance(60_000)
    // The lane ends, and the next claim finds the message.
    laneClock.advance(1000)
    return receiver.received.length === 3
  })
  await untilWritten(harness)
  const [, second, third] = receiver.received
  expect(third?.headers['webhook-id']).toBe(second?.headers['webhook-id'])
  expect(third?.raw).toEqual(second?.raw)
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('sends what may have been sent before a crash again, alone and with the same id and body', async () => {
  const { workers } = await openLane(gathering)
  await crashAfter(harness, workers, async () => {
    await harness.audit('second')
    await receiver.waitFor(2)
    await harness.audit('third')
    await receiver.waitFor(3)
  })
  expect((await events()).length + (await messages()).length).toBe(2)
  await harness.start()
  await receiver.waitFor(5)
  await untilWritten(harness)
  expect(textsOf(receiver)).toEqual([['first'], ['second'], ['third'], ['second'], ['third']])
  const [, second, third, secondAgain, thirdAgain] = receiver.received
  expect([secondAgain, thirdAgain].map((one) => one?.headers['webhook-id'])).toEqual(
    [second, third].map((one) => one?.headers['webhook-id']),
  )
  expect([secondAgain?.raw, thirdAgain?.raw]).toEqual([second?.raw, third?.raw])
})

it('routes events for several webhooks, and sends them in order', async () => {
  const other = await startReceiver()
  await harness.addWebhook({ url: receiver.url, ...single, order: 'webhook' })
  await harness.addWebhook({ url: other.url, ...single, order: 'webhook' })
  await harness.start()
  for (let index = 0; index < 10; index += 1) await harness.audit(`m${index}`)
  await Promise.all([receiver.waitFor(10), other.waitFor(10)])
  await untilWritten(harness)
  const inOrder = Array.from({ length: 10 }, (_, index) => [`m${index}`])
  expect([textsOf(receiver), textsOf(other)]).toEqual([inOrder, inOrder])
  await other.kill()
})

it('starts messages in the order of their commits, whether they are routed or not', async () => {
  await openLane(gathering)
  const names = Array.from({ length: 60 }, (_, index) => `m${index}`)
  for (const name of names) await harness.audit(name)
  await waitUntil('everything arrived', () => textsOf(receiver).flat().length === 61)
  await untilWritten(harness)
  // A lane that gathers events has few of them in flight; only what is routed is sent together.
  const arrived = textsOf(receiver)
    .flat()
    .filter((text) => text !== 'first')
  expect(arrived.toSorted()).toEqual(names.toSorted())
  const ids = receiver.received.map(idOf)
  expect(new Set(ids).size).toBe(ids.length)
})

it('sends events alone in a lane that gathers them until four requests are in flight, and routes the others', async () => {
  await harness.addWebhook({ url: receiver.url, ...gathering })
  await harness.start()
  // Each success lets the lane have one more request in flight, and the last one more than four.
  const before = Array.from({ length: 5 }, (_, index) => `before ${index}`)
  for (const [index, name] of before.entries()) {
    await harness.audit(name)
    await receiver.waitFor(index + 1)
    await untilWritten(harness)
  }
  const held = holdAnswers(receiver)
  const names = Array.from({ length: 4 }, (_, index) => `m${index}`)
  for (const name of names) await harness.audit(name)
  await receiver.waitFor(9)
  const ids = (await events()).map(({ id }) => id)
  expect([ids.length, await messages()]).toEqual([4, []])
  for (const name of ['m4', 'm5']) await harness.audit(name)
  await waitUntil('the others are routed', async () => (await events()).length === 4)
  expect((await messages()).length).toBeGreaterThan(0)
  receiver.answer(status(200))
  releaseAnswers(held)
  await waitUntil('everything arrived', () => textsOf(receiver).flat().length === 11)
  await untilWritten(harness)
  expect(receiver.received.slice(5, 9).map(idOf).toSorted()).toEqual(ids.toSorted())
  expect(textsOf(receiver).flat().toSorted()).toEqual([...before, ...names, 'm4', 'm5'].toSorted())
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('writes the results of a lane without waiting for more once it has sixteen of them', async () => {
  await openLane()
  // Now results wait for more of them without end.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await Promise.all(Array.from({ length: 16 }, (_, index) => harness.audit(`m${index}`)))
  await receiver.waitFor(17)
  await untilWritten(harness)
  expect(await harness.ctx.db.selectFrom('webhookDelivery').select('messageId').execute()).toHaveLength(17)
})

it('sends the events of a commit in their order, although its last statement has a single one', async () => {
  await openLane(gathering)
  const names = Array.from({ length: 21 }, (_, index) => `m${index}`)
  await inTx(harness.ctx, async (tx) => {
    for (const message of names) await appendAudit(tx, harness.scope, { message, at: clock.now() })
  })
  await waitUntil('everything arrived', () => textsOf(receiver).flat().length === 22)
  expect(textsOf(receiver)).toEqual([['first'], names])
})

it('gathers the events of a backlog after a start, but for the few that a former run may have sent', async () => {
  await harness.addWebhook({ url: receiver.url, ...gathering })
  const names = Array.from({ length: 150 }, (_, index) => `m${index}`)
  for (const name of names) await harness.audit(name)
  const ids = (await harness.ctx.db.selectFrom('webhookOutbox').select('id').orderBy('id').execute()).map(
    ({ id }) => id,
  )
  await harness.start()
  await waitUntil('everything arrived', () => textsOf(receiver).flat().length === 150)
  await untilWritten(harness)
  expect(new Set(textsOf(receiver).flat())).toEqual(new Set(names))
  const alone = receiver.received.filter((one) => ids.includes(idOf(one)))
  expect(new Set(alone.map(idOf))).toEqual(new Set(ids.slice(0, 64)))
  expect(receiver.received.length).toBeLessThan(70)
}, 60_000)
