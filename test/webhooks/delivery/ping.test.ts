import type { ServerResponse } from 'node:http'
import { beforeEach, expect, it } from 'vitest'
import type { OrgScope } from '../../../src/access/scope.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { defaultCaps } from '../../../src/webhooks/delivery/admission/caps.ts'
import { BREAKER_FAILURES } from '../../../src/webhooks/lanes/decide-lane.ts'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { listPings } from '../../../src/webhooks/pings/store.ts'
import { pullMessages } from '../../../src/webhooks/pull/pull-messages.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { lockLanes } from '../../../src/webhooks/lanes/store.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { startEngine } from '../engine.ts'
import { type Harness, releaseAtOnce } from '../harness.ts'
import { type Receiver, type Reply, startReceiver, status } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock(), releaseAtOnce))
})

const single = { topics: ['audits'], single_event_per_message: true }
const ping = (id: string, scope: OrgScope = harness.scope) => pingWebhook(harness.ctx, scope, id)
const topics = (of: Receiver): string[] => of.received.map(({ topic }) => topic)
const pinged = (of: Receiver, count = 1) =>
  waitUntil(`${count} pings`, () => topics(of).filter((topic) => topic === 'ping').length >= count)
const lane = (webhookId: string) =>
  harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', webhookId).executeTakeFirstOrThrow()
const pings = () => harness.ctx.db.selectFrom('webhookPing').select('id').execute()
const recordedPings = async () => (await harness.deliveries()).filter(({ topic }) => topic === 'ping')
const drained = () => waitUntil('everything delivered', async () => (await harness.waiting()).pending === 0)

/** Answers pings, and leaves all other requests unanswered. */
function hangExceptPings(): { readonly reply: Reply; readonly held: ServerResponse[] } {
  const held: ServerResponse[] = []
  return {
    held,
    reply: (request, response, message) => {
      if (message.topic === 'ping') status(200)(request, response, message)
      else held.push(response)
    },
  }
}

it('is sent at once while the only request that its lane may make hangs', async () => {
  const { reply, held } = hangExceptPings()
  receiver.answer(reply)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single, order: 'webhook' })
  await harness.start()
  await harness.audit('hangs')
  await harness.audit('waits')
  await receiver.waitFor(1)
  await ping(id)
  await pinged(receiver)
  await waitUntil('the record', async () => (await recordedPings()).length === 1)
  expect(await recordedPings()).toMatchObject([{ status: 'success', attempt: 1 }])
  // The lane does not notice: its request still hangs, and nothing overtakes it.
  expect(topics(receiver)).toEqual(['audits', 'ping'])
  expect(await pings()).toEqual([])
  receiver.answer(status(200))
  for (const response of held) response.writeHead(200).end()
  await drained()
  expect(receiver.received.length).toBe(3)
})

it('is sent at once while the receiver has requested a pause, and ends it', async () => {
  receiver.answer(status(429, { 'retry-after': '3600' }))
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start()
  await harness.audit('paused')
  await waitUntil('the pause', async () => (await lane(id)).openUntil !== null)
  receiver.answer(status(500))
  await ping(id)
  await waitUntil('the record', async () => (await recordedPings()).length === 1)
  // A ping that fails shows nothing new.
  expect(await lane(id)).toMatchObject({ failures: 0, openUntil: addMs(clock.now(), 3600e3), failingSince: null })
  receiver.answer(status(200))
  await ping(id)
  await waitUntil('the end of the pause', async () => (await lane(id)).openUntil === null)
  // The attempts have their own pause.
  clock.advance(3600e3)
  harness.wake()
  await drained()
  expect(topics(receiver)).toEqual(['audits', 'ping', 'ping', 'audits'])
})

it('is sent at once while the breaker is open and its probe hangs, and closes the breaker for good', async () => {
  const { reply, held } = hangExceptPings()
  receiver.answer(reply)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const openUntil = clock.now()
  await harness.ctx.db
    .updateTable('webhookLane')
    .set({ failures: BREAKER_FAILURES + 3, failingSince: clock.now(), openUntil })
    .execute()
  await harness.start()
  await harness.audit('probe')
  await receiver.waitFor(1)
  await harness.audit('waits')
  // The lane of the probe is held, so its row counts more messages than there are, until the sweep, because the ping ends the lease.
  await waitUntil('the next event is routed', async () => (await harness.waiting()).messages === 2)
  // Only the probe hangs: what follows the ping is answered.
  receiver.answer(status(200))
  await ping(id)
  await pinged(receiver)
  const closed = { failures: 0, openUntil: null, failingSince: null }
  await waitUntil('the breaker closes', async () => (await lane(id)).failures === 0)
  expect(await lane(id)).toMatchObject(closed)
  // The probe fails after the ping: it says nothing about the receiver of now.
  for (const response of held) response.destroy()
  await waitUntil('everything delivered', async () => (await harness.waiting()).messages === 0)
  expect(await lane(id)).toMatchObject(closed)
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('does not wait for a lane that needs no repair', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await ping(id)
  await inTx(harness.ctx, async (tx) => {
    await lockLanes(tx, [{ orgId: harness.scope.orgId, webhookId: id }])
    await harness.start()
    await waitUntil('the record', async () => (await recordedPings()).length === 1)
  })
  expect(await recordedPings()).toMatchObject([{ status: 'success' }])
  expect(await pings()).toEqual([])
})

it('is sent at once while other organizations use every slot', async () => {
  const { reply, held } = hangExceptPings()
  receiver.answer(reply)
  const pool = (total: number) => ({ total, perOrg: total })
  const caps = { ...defaultCaps, fresh: pool(3), late: pool(2), slow: pool(1), lateMs: 20, slowMs: 60 }
  const others = [await harness.addOrg(), await harness.addOrg()]
  for (const other of others)
    for (let index = 0; index < 4; index += 1) await harness.addWebhook({ url: receiver.url, ...single }, null, other)
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start({ caps, timeoutMs: 60_000 })
  for (const other of others) await harness.audit('hangs', null, other)
  await waitUntil('the slots are used', () => held.length >= 4)
  await ping(id)
  await pinged(receiver)
  expect((await harness.deliveries()).map(({ topic }) => topic)).not.toContain('audits')
})

it('waits only for a ping of the same webhook, or of its organization beyond its share', async () => {
  const held: ServerResponse[] = []
  const hanging = await startReceiver()
  hanging.answer((_request, response) => void held.push(response))
  const [first, second, third] = await Promise.all(
    Array.from({ length: 3 }, () => harness.addWebhook({ url: hanging.url, ...single })),
  )
  const other = await harness.addOrg()
  const { id: foreign } = await harness.addWebhook({ url: receiver.url, ...single }, null, other)
  await harness.start({ pingSlots: { total: 4, perOrg: 2 } })
  for (const id of [first?.id, first?.id, second?.id, third?.id]) await ping(id ?? '')
  await hanging.waitFor(2)
  await ping(foreign, other)
  await pinged(receiver)
  const idsOf = () => hanging.received.map(({ events }) => String(events[0]?.['id']))
  expect(new Set(idsOf())).toEqual(new Set([first?.id, second?.id]))
  expect(hanging.received.length).toBe(2)
  hanging.answer(status(200))
  for (const response of held) response.writeHead(200).end()
  await hanging.waitFor(4)
  await waitUntil('no ping is left', async () => (await pings()).length === 0)
  expect(idsOf()).toHaveLength(4)
  expect(new Set(idsOf())).toEqual(new Set([first?.id, second?.id, third?.id]))
  await hanging.kill()
})

it('is refused while ten wait for the same receiver', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  for (let count = 0; count < 10; count += 1) await ping(id)
  await expect(ping(id)).rejects.toThrow('10 pings of the webhook wait')
  await harness.start()
  await pinged(receiver, 10)
})

it('is sent again after a stop that cut it, with the same id, and forgotten with its webhook', async () => {
  receiver.answer(() => {})
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  const workers = await harness.start()
  await ping(id)
  await pinged(receiver)
  await workers.stop()
  expect((await pings()).length).toBe(1)
  await harness.start()
  await pinged(receiver, 2)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  await deleteWebhook(harness.ctx, harness.scope, id)
  expect(await pings()).toEqual([])
  expect(await harness.deliveries()).toEqual([])
})

it('does not let a limited webhook exceed its rate', async () => {
  const { id } = await harness.addWebhook({
    url: receiver.url,
    ...single,
    rate_limit: { messages: 1, per: 'minute' },
  })
  await harness.start()
  for (const message of ['first', 'second']) await harness.audit(message)
  await receiver.waitFor(1)
  await waitUntil('the pace', async () => (await lane(id)).openUntil !== null)
  for (let count = 1; count <= 3; count += 1) {
    await ping(id)
    await pinged(receiver, count)
    await waitUntil('the record', async () => (await recordedPings()).length === count)
    clock.advance(1000)
    harness.wake()
  }
  expect(topics(receiver)).toEqual(['audits', 'ping', 'ping', 'ping'])
  clock.advance(60_000)
  harness.wake()
  await drained()
})

const enabled = async () =>
  (await harness.ctx.db.selectFrom('webhook').select(['enabled', 'disabledWhy']).execute()).map(
    ({ enabled: isEnabled, disabledWhy }) => [isEnabled, disabledWhy],
  )
const change = (id: string, body: Record<string, unknown>) =>
  updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })

it('disables the webhook when it is answered by 410, like any other message', async () => {
  receiver.answer(status(410))
  const { id } = await harness.addWebhook({ url: receiver.url, ...single, name: 'Old' })
  await harness.start()
  await ping(id)
  await waitUntil('the record', async () => (await recordedPings()).length === 1)
  expect(await recordedPings()).toMatchObject([{ status: 'failure', statusCode: 410, final: true }])
  expect(await enabled()).toEqual([[false, 'gone']])
  const disabled = await harness.ctx.db.selectFrom('systemEvent').select(['type', 'details']).execute()
  expect(disabled).toEqual([{ type: 'WEBHOOK_DISABLED', details: { webhook_id: id } }])
  // A webhook that is disabled already stays as it is.
  await ping(id)
  await waitUntil('the next record', async () => (await recordedPings()).length === 2)
  expect(await harness.ctx.db.selectFrom('systemEvent').select('id').execute()).toHaveLength(1)
  expect(await pings()).toEqual([])
})

it('does not disable the webhook when the receiver that it had before answers 410', async () => {
  const { reply, held } = hangExceptPings()
  receiver.answer((request, response, message) => reply(request, response, { ...message, topic: '' }))
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start()
  await ping(id)
  await pinged(receiver)
  await change(id, { url: `${receiver.url}/next` })
  for (const response of held) response.writeHead(410).end()
  await waitUntil('the record', async () => (await recordedPings()).length === 1)
  expect(await enabled()).toEqual([[true, null]])
})

it('is fetched if the webhook becomes one whose messages are fetched while it waits', async () => {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await ping(id)
  await ping(id)
  const ids = (await pings()).map((row) => row.id).toSorted((a, b) => (a < b ? -1 : 1))
  await change(id, { type: 'pull', url: null })
  // The event of the change would be a message as well.
  await harness.ctx.db.deleteFrom('webhookOutbox').execute()
  expect(await pings()).toEqual([])
  await harness.start()
  const { messages } = await pullMessages(harness.ctx, harness.scope, { id, cursor: 0n, limit: 10 })
  expect(messages.map((message) => [message.topic, message.id])).toEqual(ids.map((each) => ['ping', each]))
  expect(await harness.deliveries()).toEqual([])
  expect(await harness.waiting()).toEqual({ messages: 2, pending: 2 })
  expect(receiver.received).toEqual([])
})

it('is listed by the age of all, the oldest of each webhook', async () => {
  const webhooks = [await harness.addWebhook({ url: receiver.url }), await harness.addWebhook({ url: receiver.url })]
  const [first = '', second = ''] = webhooks.map(({ id }) => id).toSorted()
  // In another order than that of the webhooks.
  for (const id of [second, first, second, first]) await ping(id)
  const ids = (await pings()).map(({ id }) => id).toSorted()
  const listed = async (limit: number) =>
    (await listPings(harness.ctx.db, { limit, exceptOrgIds: [], exceptWebhookIds: [] })).map((each) => each.id)
  expect([await listed(10), await listed(1)]).toEqual([ids.slice(0, 2), ids.slice(0, 1)])
})
