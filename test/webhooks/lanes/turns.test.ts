import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { enqueueMessages } from '../../../src/webhooks/delivery/store-enqueue.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { createLaneClock } from '../lane-clock.ts'
import { answerAfter, holdAnswers, releaseAnswers } from '../receiver.ts'

/** Adds messages to the queue of a webhook, which its lane has to claim. */
async function enqueue({ ctx, scope }: Harness, webhookId: string, count: number, text = ''): Promise<void> {
  const body = Buffer.from(JSON.stringify({ topic: 'audits', events: [], text }))
  const of = { orgId: scope.orgId, webhookId, topic: 'audits', body, eventCount: 1, orderKey: null }
  const messages = Array.from({ length: count }, () => ({ ...of, id: uuidv7() }))
  await inTx(ctx, async (tx) => {
    await enqueueMessages(tx, messages, ctx.clock.now())
  })
}

function leasedLane({ ctx }: Harness, webhookId: string) {
  const lanes = ctx.db.selectFrom('webhookLane').select('epoch').where('leaseUntil', 'is not', null)
  return lanes.where('webhookId', '=', webhookId).executeTakeFirst()
}

const single = { topics: ['audits'], single_event_per_message: true }

it('a lane that is leased again has as many requests in flight as before, or one if the last attempt failed', async () => {
  const laneClock = createLaneClock()
  const { harness, receiver } = await startEngine(createTestClock(), laneClock.options)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const lane = harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id)
  await enqueue(harness, id, 40)
  let held = holdAnswers(receiver)
  await harness.start()
  await answerAfter(receiver, held, [1, 3, 7])
  await receiver.waitFor(15)
  const { epoch } = await lane.executeTakeFirstOrThrow()
  // It may start none any more, and is leased again.
  laneClock.advance(3000)
  const first = held
  held = holdAnswers(receiver)
  releaseAnswers(first)
  await receiver.waitFor(23)
  expect(Number((await lane.executeTakeFirstOrThrow()).epoch)).toBe(Number(epoch) + 1)
  laneClock.advance(3000)
  const [failing, ...others] = held
  releaseAnswers(others)
  await waitUntil('their results', async () => (await harness.waiting()).messages === 40 - 22)
  held = holdAnswers(receiver)
  failing?.writeHead(500).end()
  await receiver.waitFor(24)
  releaseAnswers(held.splice(0))
  await receiver.waitFor(26)
  expect(receiver.received).toHaveLength(26)
}, 60_000)

it('a lane that has been idle has as many requests in flight as before', async () => {
  const laneClock = createLaneClock()
  const { harness, receiver } = await startEngine(createTestClock(), laneClock.options)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await enqueue(harness, id, 7)
  const held = holdAnswers(receiver)
  await harness.start()
  await answerAfter(receiver, held, [1, 3, 7])
  await waitUntil('their results', async () => (await harness.waiting()).messages === 0)
  laneClock.advance(20_000)
  const lane = harness.ctx.db.selectFrom('webhookLane').select('leaseUntil').where('webhookId', '=', id)
  await waitUntil('its release', async () => (await lane.executeTakeFirstOrThrow()).leaseUntil === null)
  await enqueue(harness, id, 8)
  harness.wake()
  await receiver.waitFor(15)
  releaseAnswers(held)
}, 60_000)

it('a lane of large messages looks up more of them while its requests are in flight', async () => {
  const { harness, receiver } = await startEngine(createTestClock(), createLaneClock().options)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  // A claim finds five of them.
  await enqueue(harness, id, 20, 'x'.repeat(100_000))
  const held = holdAnswers(receiver)
  await harness.start()
  await answerAfter(receiver, held, [1, 3, 7, 15])
  await receiver.waitFor(20)
  releaseAnswers(held.splice(0))
  await waitUntil('their results', async () => (await harness.waiting()).messages === 0)
  const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']))
  expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted())
  expect(ids).toHaveLength(20)
  const lane = harness.ctx.db.selectFrom('webhookLane').select('epoch').where('webhookId', '=', id)
  expect(Number((await lane.executeTakeFirstOrThrow()).epoch)).toBe(1)
}, 60_000)

it('a lane begins with one request after a pause that its receiver has requested', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock())
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await enqueue(harness, id, 20)
  const held = holdAnswers(receiver)
  await harness.start()
  await answerAfter(receiver, held, [1, 3])
  await receiver.waitFor(7)
  const [pausing, ...others] = held.splice(0)
  pausing?.writeHead(429, { 'retry-after': '5' }).end()
  await waitUntil('the pause', async () => (await harness.deliveries()).length === 4)
  releaseAnswers(others)
  const lane = harness.ctx.db.selectFrom('webhookLane').select(['leaseUntil', 'openUntil']).where('webhookId', '=', id)
  await waitUntil('its release', async () => {
    const { leaseUntil, openUntil } = await lane.executeTakeFirstOrThrow()
    return leaseUntil === null && openUntil !== null
  })
  clock.advance(5000)
  harness.wake()
  await receiver.waitFor(8)
  releaseAnswers(held.splice(0))
  await receiver.waitFor(10)
  expect(receiver.received).toHaveLength(10)
}, 60_000)

it('a lane whose receiver has recovered is claimed with all of its messages after the probe', async () => {
  const { clock, harness, receiver } = await startEngine(createTestClock())
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await enqueue(harness, id, 12)
  receiver.answer((_request, response) => response.writeHead(500).end())
  await harness.start()
  await receiver.waitFor(5)
  const lane = harness.ctx.db.selectFrom('webhookLane').select(['leaseUntil', 'openUntil']).where('webhookId', '=', id)
  await waitUntil('its release', async () => {
    const { leaseUntil, openUntil } = await lane.executeTakeFirstOrThrow()
    return leaseUntil === null && openUntil !== null
  })
  const held = holdAnswers(receiver)
  clock.advance(5000)
  harness.wake()
  await receiver.waitFor(6)
  releaseAnswers(held.splice(0))
  // One request more after each success.
  await receiver.waitFor(8)
  // None of the two has ended.
  expect(await harness.deliveries()).toHaveLength(6)
  releaseAnswers(held)
}, 60_000)

it('a lane that gets no slot waits for one, and is not claimed once more', async () => {
  const { harness, receiver } = await startEngine(createTestClock(), createLaneClock().options)
  await harness.addWebhook({ url: receiver.url, ...single })
  const { id: waitingId } = await harness.addWebhook({ url: `${receiver.url}/waits`, ...single })
  const held = holdAnswers(receiver)
  const caps = { ...defaultCaps, fresh: { total: 1, perOrg: 1 }, lateMs: 600_000, slowMs: 600_000 }
  await harness.start({ caps })
  await harness.audit('for both')
  await receiver.waitFor(1)
  await waitUntil('both have been leased', async () => (await leasedLane(harness, waitingId)) !== undefined)
  releaseAnswers(held.splice(0))
  await receiver.waitFor(2)
  expect(await leasedLane(harness, waitingId)).toMatchObject({ epoch: '1' })
  releaseAnswers(held)
}, 60_000)

it('a lane that was claimed ends its turn soon if another organization waits for a slot', async () => {
  const laneClock = createLaneClock()
  const { harness, receiver } = await startEngine(createTestClock(), laneClock.options)
  const other = await harness.addOrg()
  const { id: webhookId } = await harness.addWebhook({ url: receiver.url, ...single })
  const { id: waitingId } = await harness.addWebhook({ url: `${receiver.url}/waits`, ...single }, null, other)
  await enqueue(harness, webhookId, 20)
  const held = holdAnswers(receiver)
  // The only slot stays with the first request.
  const caps = { ...defaultCaps, fresh: { total: 1, perOrg: 1 }, lateMs: 600_000, slowMs: 600_000 }
  await harness.start({ caps })
  await receiver.waitFor(1)
  await harness.audit('waits', null, other)
  await waitUntil('the other lane waits', async () => (await leasedLane(harness, waitingId)) !== undefined)
  // Whatever was confirmed before lasts for three seconds, in which the lane must not be confirmed again.
  laneClock.advance(2500)
  const looks = laneClock.looks()
  await waitUntil('the lanes have aged', () => laneClock.looks() > looks + 2)
  laneClock.advance(1000)
  releaseAnswers(held)
  await receiver.waitFor(2)
  expect(receiver.received[1]?.path).toBe('/hook/waits')
}, 60_000)

it.each([
  ['another organization', (harness: Harness) => harness.addOrg()],
  ['another lane of its organization', async ({ scope }: Harness) => scope],
])(
  'a lane that has to be claimed gets a slot although %s takes each one again at once',
  async (_, orgOf) => {
    const laneClock = createLaneClock()
    const { harness, receiver } = await startEngine(createTestClock(), laneClock.options)
    const other = await orgOf(harness)
    await harness.addWebhook({ url: receiver.url, ...single })
    // It gets none of the events.
    const { id } = await harness.addWebhook(
      { ...single, url: `${receiver.url}/waits`, topics: ['alarms'] },
      null,
      other,
    )
    const held = holdAnswers(receiver)
    const never = 600_000
    await harness.start({ caps: { ...defaultCaps, fresh: { total: 1, perOrg: 1 }, lateMs: never, slowMs: never } })
    for (let count = 0; count < 20; count += 1) await harness.audit('first')
    await receiver.waitFor(1)
    await enqueue({ ...harness, scope: other }, id, 1)
    harness.wake()
    const hasArrived = (): boolean => receiver.received.some(({ path }) => path === '/hook/waits')
    for (let count = 2; !hasArrived(); count += 1) {
      // The other lane always has further messages when its request ends.
      await harness.audit('next')
      laneClock.advance(10)
      releaseAnswers(held.splice(0))
      await receiver.waitFor(count)
      // That is three times the bound.
      expect(count).toBeLessThan(600)
    }
    releaseAnswers(held)
  },
  60_000,
)

it('a lane ends that a change of its webhook has released, if it is leased again before the change is known', async () => {
  const { harness, receiver } = await startEngine(createTestClock(), createLaneClock().options)
  for (const path of ['a', 'b']) await harness.addWebhook({ url: `${receiver.url}/${path}`, ...single })
  const workers = await harness.start()
  await harness.audit('first')
  await receiver.waitFor(2)
  const released = { leaseUntil: null, leasedBy: null, epoch: sql<string>`epoch + 1` }
  await harness.ctx.db.updateTable('webhookLane').set(released).execute()
  await harness.audit('second')
  await receiver.waitFor(4)
  await workers.stop()
}, 60_000)
