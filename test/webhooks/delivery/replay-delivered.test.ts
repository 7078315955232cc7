import { defaultWebhookLimits as limits } from '../../../src/webhooks/limits/limits.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type ReplayRequest, replayMessages } from '../../../src/webhooks/replays/replay-messages.ts'
import { type ReplayFilter, replayPace } from '../../../src/webhooks/replays/store-parked.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness, releaseAtOnce } from '../harness.ts'
import { type Received, type Receiver, allValid, signaturesOf, startReceiver } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock, releaseAtOnce)
  await harness.start()
})
afterAll(() => harness.close())
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  await receiver.kill()
  await harness.ctx.db.deleteFrom('webhook').execute()
})

const all: ReplayFilter = { ids: null, topic: null, reason: null, start: null, end: null }
const replay = (id: string, filter: Partial<ReplayFilter> = {}, status: ReplayRequest['status'] = 'delivered') =>
  replayMessages(harness.ctx, harness.scope, { id, limits, status, filter: { ...all, ...filter } })
const idOf = ({ headers }: Received) => String(headers['webhook-id'])

/** Commits events one after the other, a second apart, and waits until each is delivered and recorded. */
async function deliver(webhookId: string, names: readonly string[]): Promise<readonly Received[]> {
  const before = receiver.received.length
  for (const [index, name] of names.entries()) {
    await harness.deviceEvents([name])
    clock.advance(1000)
    harness.wake()
    await receiver.waitFor(before + index + 1)
    await settled(webhookId)
  }
  return receiver.received.slice(before)
}

/** Waits until nothing of the webhook is left to send or to record. */
const settled = (webhookId: string) =>
  waitUntil('nothing pending', async () => {
    const { db } = harness.ctx
    const lane = await db.selectFrom('webhookLane').selectAll().where('webhookId', '=', webhookId).executeTakeFirst()
    return lane?.pending === 0
  })

it('sends delivered messages again with the same id and bytes: by id, by time, all of them', async () => {
  const body = { url: receiver.url, topics: ['device-events'], secret: 's', name: 'A' }
  const { id } = await harness.addWebhook(body)
  const [first, second, third] = (await deliver(id, ['first', 'second', 'third'])) as [Received, Received, Received]
  const deliveredAt = clock.now()
  const expectReplayed = async (filter: Partial<ReplayFilter>, expected: readonly Received[]) => {
    const before = receiver.received.length
    expect(await replay(id, filter)).toEqual({ replayed: expected.length, next: null })
    const got = (await receiver.waitFor(before + expected.length)).slice(before)
    await settled(id)
    const shown = (all: readonly Received[]) =>
      new Map(all.map((message) => [idOf(message), message.raw.toString('utf8')]))
    expect(got).toHaveLength(expected.length)
    expect(shown(got)).toEqual(shown(expected))
    for (const message of got) expect(signaturesOf(message, 's')).toEqual(allValid)
    clock.advance(1000)
  }
  clock.advance(1000)
  await expectReplayed({ ids: [idOf(second), idOf(third)] }, [second, third])
  await expectReplayed({ end: new Date(deliveredAt.getTime() - 2000) }, [first])
  await expectReplayed({ topic: 'audits' }, [])
  // Some were delivered twice by now, and each is sent once.
  await expectReplayed({}, [first, second, third])
  const before = receiver.received.length
  await pingWebhook(harness.ctx, harness.scope, id)
  await receiver.waitFor(before + 1)
  await waitUntil('the ping is recorded', async () =>
    (await harness.deliveries()).some(({ topic }) => topic === 'ping'),
  )
  const ofThird = harness.ctx.db.updateTable('webhookDelivery').where('messageId', '=', idOf(third))
  await ofThird.set({ status: 'failure' }).execute()
  clock.advance(1000)
  // Neither test messages nor what was never accepted.
  await expectReplayed({}, [first, second])
  expect(await replay(id, {}, 'parked')).toEqual({ replayed: 0, next: null })
  const audits = await harness.ctx.db.selectFrom('auditLog').select('message').orderBy('id').execute()
  expect(audits.map(({ message }) => message).filter((message) => message.startsWith('Replay'))).toEqual([
    'Replay 2 delivered messages of Webhook "A"',
    'Replay 1 delivered message of Webhook "A"',
    'Replay 3 delivered messages of Webhook "A"',
    'Replay 2 delivered messages of Webhook "A"',
  ])
})

it('does not delay another webhook, nor send a message that still waits a second time', async () => {
  const { id } = await harness.addWebhook({
    url: receiver.url,
    topics: ['device-events'],
    single_event_per_message: true,
  })
  await harness.deviceEvents(Array.from({ length: 60 }, (_, n) => `d${n}`))
  clock.advance(1000)
  harness.wake()
  await receiver.waitFor(60)
  await settled(id)
  const held: (() => void)[] = []
  receiver.answer((_request, response) => held.push(() => response.writeHead(200).end()))
  clock.advance(1)
  expect((await replay(id)).replayed).toBe(60)
  await receiver.waitFor(61)
  // All of them wait, or have no answer yet.
  expect((await replay(id)).replayed).toBe(0)
  const lane = harness.ctx.db.selectFrom('webhookLane').select('replaysUntil').where('webhookId', '=', id)
  // Only what is sent again delays a further replay.
  expect(await lane.execute()).toEqual([{ replaysUntil: addMs(clock.now(), 600) }])
  const live = await startReceiver()
  await harness.addWebhook({ url: live.url, topics: ['audits'] })
  await harness.audit('live')
  await live.waitFor(1)
  expect(receiver.received.length).toBeLessThan(80)
  receiver.answer((_request, response) => response.writeHead(200).end())
  for (const answer of held) answer()
  // The last ten of them are due later.
  await waitUntil('ten left', async () => (await harness.waiting()).pending === 10)
  expect(receiver.received).toHaveLength(110)
  clock.advance(replayPace.pauseMs)
  harness.wake()
  await receiver.waitFor(120)
  await settled(id)
  await live.kill()
})

it('finds in further calls only what was delivered before the first one', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['device-events'] })
  await deliver(id, ['first'])
  const others = 10_005
  await sql`
    with first as (select d.*, b.req_headers, b.req_payload from webhook_delivery d
        join webhook_body b on b.org_id = d.org_id and b.created_at = d.created_at and b.delivery_id = d.id
        where d.webhook_id = ${id}),
      copy as (select gen_random_uuid() as id, gen_random_uuid() as message_id, place * interval '1 ms' as later
        from generate_series(1, ${others}) place),
      bodies as (insert into webhook_body (org_id, delivery_id, req_headers, req_payload, created_at)
        select org_id, copy.id, req_headers, req_payload, created_at + later from first, copy)
    insert into webhook_delivery (org_id, id, webhook_id, message_id, topic, attempt, status, req_url, created_at, final)
    select org_id, copy.id, webhook_id, copy.message_id, topic, attempt, status, req_url, created_at + later, final from first, copy
  `.execute(harness.ctx.db)
  clock.advance(60_000)
  const { replayed, next } = await replay(id)
  await receiver.waitFor(51)
  await waitUntil('what was sent again is recorded', async () => (await harness.waiting()).pending < replayed)
  expect(await replay(id, next ?? {})).toEqual({ replayed: 1 + others - replayed, next: null })
})
