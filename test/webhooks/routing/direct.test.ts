import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { createLaneClock } from '../lane-clock.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

const clock = createTestClock()
const single = { topics: ['audits'], single_event_per_message: true }
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ harness, receiver } = await startEngine(clock))
})

const lane = () => harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()
const messagesOf = ({ received }: Receiver) => received.map(({ events }) => String(events[0]?.['message']))

it('sends a message that was just routed without making its lane due, and releases the lane when it is idle', async () => {
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start()
  await harness.audit('first')
  await receiver.waitFor(1)
  expect(await lane()).toMatchObject({ epoch: '1', pending: 1, nextAt: null, leaseUntil: expect.any(Date) })
  receiver.answer(status(200))
  held[0]?.writeHead(200).end()
  await waitUntil('released', async () => (await lane()).leaseUntil === null)
  expect(await lane()).toMatchObject({ epoch: '1', pending: 0, nextAt: null, leasedBy: null })
})

it('sends the first 32 messages while no result can be written, and the others afterwards', async () => {
  await harness.addWebhook({ url: receiver.url, ...single })
  const laneClock = createLaneClock()
  await harness.start(laneClock.options)
  await inTx(harness.ctx, async (tx) => {
    await sql`lock table webhook_delivery in share mode`.execute(tx)
    for (let index = 0; index < 40; index += 1) await harness.audit(`m${index}`)
    await receiver.waitFor(32)
    // The others wait in memory and, as the first ones, in the outbox.
    // In one statement, because the router makes messages of events meanwhile.
    const ids = harness.ctx.db.selectFrom('webhookOutbox').select('id')
    const stored = await ids.unionAll(harness.ctx.db.selectFrom('webhookMessage').select('id')).execute()
    expect(stored).toHaveLength(40)
    expect(new Set(messagesOf(receiver))).toEqual(new Set(Array.from({ length: 32 }, (_, index) => `m${index}`)))
    expect(receiver.received.length).toBe(32)
  })
  await receiver.waitFor(40)
  await waitUntil('everything written', async () => {
    laneClock.advance(50)
    return (await harness.waiting()).pending === 0
  })
  expect(new Set(messagesOf(receiver)).size).toBe(40)
  expect(receiver.received.length).toBe(40)
})

it('applies a change of the webhook to the next message, although its lane is held', async () => {
  const other = await startReceiver()
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start()
  await harness.audit('before')
  await receiver.waitFor(1)
  await updateWebhook(harness.ctx, harness.scope, { id, body: { url: other.url }, outbound: harness.outbound })
  await other.waitFor(1)
  await harness.audit('after')
  await waitUntil('arrived', () => messagesOf(other).includes('after'))
  expect(messagesOf(receiver)).toEqual(['before'])
  await other.kill()
})

it('takes up lanes that it has leased and does not hold, after a round of the router has failed', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  await harness.start()
  await harness.audit('first')
  await receiver.waitFor(1)
  const { leasedBy, leaseUntil } = await lane()
  receiver.answer(status(200))
  held[0]?.writeHead(200).end()
  await waitUntil('released', async () => (await lane()).leaseUntil === null)
  // The state after a transaction that was committed although its connection broke before the answer.
  const stranded = { webhookId: id, orgId: harness.scope.orgId, topic: 'audits', eventCount: 1 }
  const body = Buffer.from('{"topic":"audits","events":[{"message":"stranded"}]}')
  const at = clock.now()
  await inTx(harness.ctx, async (tx) => {
    await tx
      .insertInto('webhookMessage')
      .values({ ...stranded, id: uuidv7(), body, dueAt: at, createdAt: at })
      .execute()
    await tx.updateTable('webhookLane').set({ pending: 1, leasedBy, leaseUntil }).execute()
  })
  await sql`alter table webhook_message add check (position('poison' in convert_from(body, 'UTF8')) = 0)`.execute(
    harness.ctx.db,
  )
  await harness.audit('poison')
  await waitUntil('the stranded message arrived', () => messagesOf(receiver).includes('stranded'))
})
