import { uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../src/platform/db.ts'
import type { Attempt } from '../../src/webhooks/deliver-message.ts'
import { createFlusher } from '../../src/webhooks/flush.ts'
import { pingWebhook } from '../../src/webhooks/ping-webhook.ts'
import { type ClaimedLane, claimLanes } from '../../src/webhooks/store-deliver.ts'
import { type Harness, createHarness, createTestClock } from './harness.ts'

const clock = createTestClock()
const url = 'http://127.0.0.1:1/'
let harness: Harness
beforeEach(async () => {
  harness = await createHarness(clock)
})
afterEach(() => harness.close())

/** A webhook's lane, leased, with as many messages. */
async function claimed(messages: number): Promise<ClaimedLane> {
  const { id } = await harness.addWebhook({ url, topics: ['audits'] })
  for (let count = 0; count < messages; count += 1) await pingWebhook(harness.ctx, harness.scope, { id, siteId: null })
  const now = clock.now()
  const limits = { limit: 10, maxBytes: 1e6, busyOrgIds: [], busyWebhookIds: [] }
  const claim = { now, runId: uuidv7(), leaseUntil: new Date(now.getTime() + 60e3), ...limits }
  const [lane] = (await inTx(harness.ctx, (tx) => claimLanes(tx, claim))).lanes
  if (lane?.messages.length !== messages) throw new Error('not claimed')
  return lane
}

function delivered({ orgId, webhookId }: ClaimedLane, messageId: string): Attempt {
  const exchange = { reqHeaders: '{}', reqPayload: '{}', respHeaders: null, respBody: null }
  return {
    verdict: { kind: 'delivered' },
    durationMs: 1,
    record: {
      orgId,
      id: uuidv7(),
      webhookId,
      messageId,
      siteId: null,
      topic: 'ping',
      attempt: 1,
      status: 'success',
      statusCode: 200,
      error: null,
      reqUrl: url,
      createdAt: clock.now(),
      exchange,
    },
  }
}

const laneRow = () =>
  harness.ctx.db
    .selectFrom('webhookLane')
    .select(['pending', 'leaseUntil', 'nextAt', 'failures'])
    .executeTakeFirstOrThrow()

it('counts out what was delivered and gives the lane back, together or one after the other', async () => {
  const lane = await claimed(3)
  const [first, second] = lane.messages
  if (first === undefined || second === undefined) throw new Error('no messages')
  const flusher = createFlusher(harness.ctx)
  await flusher.push({ lane, outcome: { attempt: delivered(lane, first.id) } })
  expect(await laneRow()).toMatchObject({ pending: 2, leaseUntil: expect.any(Date) })
  const release = { failures: 3, openUntil: null, slotSeconds: 1 }
  await Promise.all([
    flusher.push({ lane, outcome: { attempt: delivered(lane, second.id) } }),
    flusher.push({ lane, outcome: { release } }),
  ])
  expect(await laneRow()).toEqual({ pending: 1, leaseUntil: null, nextAt: clock.now(), failures: 3 })
})

it('waits for nobody who has locked the webhook and is about to lock its lane', async () => {
  const lane = await claimed(1)
  const [message] = lane.messages
  if (message === undefined) throw new Error('no message')
  const flusher = createFlusher(harness.ctx)
  await inTx(harness.ctx, async (tx) => {
    await tx.selectFrom('webhook').select('id').forUpdate().execute()
    await Promise.all([
      flusher.push({ lane, outcome: { attempt: delivered(lane, message.id) } }),
      flusher.push({ lane, outcome: { release: { failures: 0, openUntil: null, slotSeconds: 1 } } }),
    ])
  })
  expect(await laneRow()).toMatchObject({ pending: 0, leaseUntil: null, nextAt: null })
})
