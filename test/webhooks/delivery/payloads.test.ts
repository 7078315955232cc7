import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { preparePartitions } from '../../../src/platform/database/partitions.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { MIN_IDLE_MS } from '../../../src/webhooks/lanes/held/decide-idle.ts'
import { keptDays } from '../../../src/webhooks/partitions.ts'
import { replayMessages } from '../../../src/webhooks/replays/replay-messages.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startEngine } from '../engine.ts'
import { type Harness, releaseAtOnce } from '../harness.ts'
import { type Receiver, status } from '../receiver.ts'

const DAY_MS = 24 * 3600e3
const single = { topics: ['audits'], single_event_per_message: true, secret: 'once' }
let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce))
})

/** Counts the records that have the payload with this event. */
async function payloadsOf(message: string): Promise<number> {
  const rows = await harness.ctx.db.selectFrom('webhookBody').select('reqPayload').execute()
  return rows.filter(({ reqPayload }) => reqPayload?.includes(`"${message}"`)).length
}

const released = () =>
  waitUntil('the lane is released', async () => {
    const lanes = await harness.ctx.db.selectFrom('webhookLane').select('leaseUntil').execute()
    return lanes.every(({ leaseUntil }) => leaseUntil === null)
  })

/** Waits until so many attempts are recorded. */
const attempted = (count: number) =>
  waitUntil(`${count} attempts`, async () => (await harness.deliveries()).length === count)

/** Makes the next attempt of a message that has failed. */
async function tryAgain(count: number, afterMs: number): Promise<void> {
  await released()
  clock.advance(afterMs)
  harness.wake()
  await attempted(count)
}

/**
 * Sends a message that the receiver takes at the fourth attempt. The last one follows the first by three minutes.
 * @param more Further options of the webhook.
 * @returns The id of the webhook.
 */
async function deliverAtFourthAttempt(message: string, more: object = {}): Promise<string> {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single, ...more })
  receiver.answer(status(500))
  await harness.start()
  await harness.audit(message)
  await attempted(1)
  await tryAgain(2, 6000)
  await tryAgain(3, 40_000)
  receiver.answer(status(200))
  await tryAgain(4, 150_000)
  return id
}

it.each([
  ['any order', {}],
  ['the order of the webhook', { order: 'webhook' }],
  ['the order of devices', { order: 'device' }],
])('records the payload of a message once for all attempts of a day, with %s', async (_what, order) => {
  const id = await deliverAtFourthAttempt('failing', order)
  expect(await payloadsOf('failing')).toBe(1)
  const recorded = await harness.recorded(id)
  expect(recorded.map((one) => one.req_payload)).toEqual(receiver.received.map(({ raw }) => raw.toString()))
  for (const [index, { headers }] of receiver.received.entries())
    expect(JSON.parse(recorded[index]?.req_headers ?? '')).toMatchObject({
      'webhook-id': headers['webhook-id'],
      'webhook-timestamp': headers['webhook-timestamp'],
      'webhook-signature': headers['webhook-signature'],
    })
  clock.advance(1)
  await replayMessages(harness.ctx, harness.scope, {
    id,
    status: 'delivered',
    filter: { ids: null, topic: null, reason: null, start: null, end: null },
    limits: defaultWebhookLimits,
  })
  const { message_id: messageId, req_payload: payload } = recorded[0] ?? {}
  const shown = await waitUntil('the replay', async () => {
    const same = (await harness.recorded(id)).filter((one) => one.message_id === messageId)
    return same.length === 5 && same.map((one) => one.req_payload)
  })
  expect(new Set(shown)).toEqual(new Set([payload]))
  expect(await payloadsOf('failing')).toBe(1)
})

it('refers to the record of an event that was sent before it was routed', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start({ minIdleMs: MIN_IDLE_MS })
  await harness.audit('leases the lane')
  await attempted(1)
  receiver.answer(status(500))
  await harness.audit('fails unrouted')
  await attempted(2)
  await tryAgain(3, 6000)
  expect(await payloadsOf('fails unrouted')).toBe(1)
  const [, first, second] = await harness.recorded(id)
  expect(JSON.parse(first?.req_payload ?? '').events).toMatchObject([{ message: 'fails unrouted' }])
  expect(second).toMatchObject({ req_payload: first?.req_payload, message_id: first?.message_id, attempt: 2 })
})

it('records the payload again on another day, so that each record shows it for seven days', async () => {
  clock.advance(DAY_MS / 2 - 10_000)
  const id = await deliverAtFourthAttempt('before midnight')
  expect(await payloadsOf('before midnight')).toBe(2)
  const before = await harness.recorded(id)
  expect(new Set(before.map((one) => one.req_payload)).size).toBe(1)
  // The first day is over.
  clock.advance(7 * DAY_MS)
  await preparePartitions(harness.ctx, keptDays)
  const shown = (await harness.recorded(id)).map((one) => one.req_payload)
  expect(shown).toEqual(['', '', before[2]?.req_payload, before[3]?.req_payload])
})

it('bounds a page by the payloads that it shows', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const { orgId } = harness.scope
  const [messageId, first, at] = [uuidv7(), uuidv7(), clock.now()]
  const payload = 'x'.repeat(300_000)
  await sql`
    insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, req_url, created_at)
    select ${orgId}, case when n = 1 then ${first}::uuid else gen_random_uuid() end, ${id}, ${messageId}, 'audits', n, 'failure', '', ${at}::timestamptz
    from generate_series(1, 40) n
  `.execute(harness.ctx.db)
  await sql`
    insert into webhook_body (org_id, delivery_id, created_at, req_headers, req_payload, payload_id, payload_at, payload_bytes)
    select org_id, id, created_at, '{}', case when attempt = 1 then ${payload}::text end,
      case when attempt > 1 then ${first}::uuid end, case when attempt > 1 then created_at end, case when attempt > 1 then ${payload.length}::integer end
    from webhook_delivery
  `.execute(harness.ctx.db)
  const found = await harness.recorded(id)
  expect(found).toHaveLength(12)
  expect(found.every((one) => one.req_payload === payload)).toBe(true)
})
