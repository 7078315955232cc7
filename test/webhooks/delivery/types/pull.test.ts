import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { addMs } from '../../../../src/platform/time/clock.ts'
import { inTx } from '../../../../src/platform/database/db.ts'
import { pingWebhook } from '../../../../src/webhooks/pings/ping-webhook.ts'
import {
  type Handed,
  type HandedMessage,
  acknowledgeMessages,
  pullMessages,
} from '../../../../src/webhooks/pull/pull-messages.ts'
import { defaultWebhookLimits as limits } from '../../../../src/webhooks/limits/limits.ts'
import { replayMessages } from '../../../../src/webhooks/replays/replay-messages.ts'
import { enqueueMessages } from '../../../../src/webhooks/delivery/store-enqueue.ts'
import { sweepLanes } from '../../../../src/webhooks/tasks.ts'
import { updateWebhook } from '../../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { type Harness, createHarness } from '../../harness.ts'
import { countBrokenLanes } from '../../lanes/broken-lanes.ts'
import { type Received, allValid, signaturesOf, startReceiver } from '../../receiver.ts'

const MIB = 1024 * 1024

let clock: TestClock
let harness: Harness
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
})
afterAll(() => harness.close())

/** Adds a webhook, and runs the workers until the test ends. */
async function addPulled(body: Record<string, unknown>): Promise<string> {
  const { id } = await harness.addWebhook({ type: 'pull', ...body })
  // Former tests may have left the events of their changes, which would be routed to it.
  await harness.ctx.db.deleteFrom('webhookOutbox').execute()
  const workers = await harness.start()
  onTestFinished(() => workers.stop())
  return id
}

const pull = (id: string, cursor = 0n, limit = 100) => pullMessages(harness.ctx, harness.scope, { id, cursor, limit })
const ack = (id: string, cursor: bigint) => acknowledgeMessages(harness.ctx, harness.scope, { id, cursor })
const lane = (id: string) =>
  harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id).executeTakeFirstOrThrow()
const waiting = (id: string, count: number) =>
  waitUntil(`${count} waiting`, async () => (await lane(id)).pending === count)

/** Adds messages with these ids and the same body to the webhook. */
function addMessages(webhookId: string, ids: readonly string[], body = longBody(0)): Promise<void> {
  const { orgId } = harness.scope
  const messages = ids.map((id) => ({ orgId, id, webhookId, topic: 'audits', body, eventCount: 1, orderKey: null }))
  return inTx(harness.ctx, (tx) => enqueueMessages(tx, messages, clock.now()))
}

/** Returns a body that is longer than this. */
const longBody = (bytes: number) =>
  Buffer.from(JSON.stringify({ topic: 'audits', events: [{ message: 'x'.repeat(bytes) }] }))

const idsOf = ({ messages }: Pick<Handed, 'messages'>) => messages.map(({ id }) => id)
const eventOf = ({ body }: HandedMessage) => JSON.parse(body).events[0]

/** Returns which signatures of a message are valid, as if it had been sent. */
function verify({ headers, body }: HandedMessage, secret: string) {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return signaturesOf(
    { path: '', headers: lower, raw: Buffer.from(body), topic: '', events: [] } satisfies Received,
    secret,
  )
}

it('hands out messages with the same ids and bytes until they are acknowledged, signed, in order, and sends none', async () => {
  const id = await addPulled({ topics: ['audits'], secret: 's' })
  for (const [index, message] of ['one', 'two', 'three'].entries()) {
    await harness.audit(message)
    await waiting(id, index + 1)
    clock.advance(10)
  }
  expect(await lane(id)).toMatchObject({ nextAt: null, leaseUntil: null })
  expect(await countBrokenLanes(harness)).toBe(0)
  const first = await pull(id, 0n, 2)
  expect(first.messages.map((message) => eventOf(message).message)).toEqual(['one', 'two'])
  for (const message of first.messages) {
    expect(verify(message, 's')).toEqual(allValid)
    expect(message.headers['webhook-id']).toBe(message.id)
  }
  const again = await pull(id)
  expect(again.messages.map(({ body }) => body).slice(0, 2)).toEqual(first.messages.map(({ body }) => body))
  const rest = await pull(id, first.cursor)
  expect(rest.messages.map((message) => eventOf(message).message)).toEqual(['three'])
  expect(await pull(id, rest.cursor)).toEqual({ messages: [], cursor: rest.cursor })
  expect([await ack(id, first.cursor), await ack(id, first.cursor)]).toEqual([2, 0])
  expect(idsOf(await pull(id))).toEqual([rest.messages[0]?.id])
  await expect(ack(id, rest.cursor + 1n)).rejects.toThrow(/^Invalid field cursor: 4 was never returned$/)
  expect(await ack(id, rest.cursor)).toBe(1)
  expect(await sweepLanes(harness.ctx)).toBe(0)
  // They are records like deliveries, and can be handed out again by a replay that begins later.
  clock.advance(1)
  const status = 'delivered'
  const filter = { ids: [String(first.messages[1]?.id)], topic: null, reason: null, start: null, end: null }
  expect((await replayMessages(harness.ctx, harness.scope, { id, limits, status, filter })).replayed).toBe(1)
  const replayed = (await pull(id)).messages.find((message) => eventOf(message).message === 'two')
  expect(replayed).toMatchObject({ id: first.messages[1]?.id, body: first.messages[1]?.body })
})

it('shows no message before one that was acknowledged, although it was committed later', async () => {
  const id = await addPulled({ topics: [] })
  const [early, late] = [uuidv7(), uuidv7()]
  await addMessages(id, [late])
  const first = await pull(id)
  expect(idsOf(first)).toEqual([late])
  await addMessages(id, [early])
  expect(await ack(id, first.cursor)).toBe(1)
  expect(idsOf(await pull(id, first.cursor))).toEqual([early])
})

it('hands out all messages of a replay at once, and new ones in between', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  const ids = Array.from({ length: 120 }, () => uuidv7())
  await addMessages(id, ids)
  await ack(id, (await pull(id, 0n, 1000)).cursor)
  clock.advance(1000)
  const filter = { ids: null, topic: null, reason: null, start: null, end: null }
  const { replayed } = await replayMessages(harness.ctx, harness.scope, { id, limits, status: 'delivered', filter })
  expect(replayed).toBe(120)
  const added = uuidv7()
  await addMessages(id, [added])
  const found = await pull(id, 0n, 1000)
  expect(idsOf(found).filter((one) => one !== added)).toEqual(ids)
  expect(idsOf(found).indexOf(added)).toBe(50)
  // Messages that it has fetched already delay no replay to a receiver that is called.
  const body = { type: 'http-post', url: 'https://hooks.example' }
  await updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })
  expect((await lane(id)).replaysUntil).toBeNull()
})

it('hands out all messages in order after its receiver was called, also those that were tried or waited behind them', async () => {
  const { id } = await harness.addWebhook({ url: 'https://hooks.example', topics: [] })
  // More than one statement puts in order.
  const ids = Array.from({ length: 1100 }, () => uuidv7())
  const createdAt = clock.now()
  await addMessages(id, ids)
  clock.advance(60_000)
  const wait = (of: readonly (string | undefined)[], set: { readonly attempt: number; readonly dueAt: Date }) =>
    harness.ctx.db.updateTable('webhookMessage').set(set).where('id', 'in', of.map(String)).execute()
  await wait([ids[0], ids[700]], { attempt: 1, dueAt: addMs(createdAt, 5000) })
  await wait([ids[2]], { attempt: 9, dueAt: addMs(clock.now(), 3600e3) })
  await wait([ids[1099], ids[3]], { attempt: 0, dueAt: addMs(clock.now(), 3600e3) })
  await harness.ctx.db
    .updateTable('webhookLane')
    .set({ dueFrom: addMs(createdAt, 5000) })
    .where('webhookId', '=', id)
    .execute()
  await updateWebhook(harness.ctx, harness.scope, { id, body: { type: 'pull', url: null }, outbound: harness.outbound })
  const first = await pull(id, 0n, 1000)
  expect([...idsOf(first), ...idsOf(await pull(id, first.cursor))]).toEqual(ids)
  expect((await lane(id)).dueFrom).toEqual(createdAt)
})

it('hands out and acknowledges a message that exceeds the limit of an answer alone', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  const [long, short] = [uuidv7(), uuidv7()]
  await addMessages(id, [long], longBody(4 * MIB))
  await addMessages(id, [short])
  const first = await pull(id)
  expect(idsOf(first)).toEqual([long])
  const second = await pull(id, first.cursor)
  expect(idsOf(second)).toEqual([short])
  expect(await ack(id, second.cursor)).toBe(2)
  expect(await lane(id)).toMatchObject({ pending: 0 })
})

it('acknowledges all messages up to the cursor, also if these are more than one transaction removes', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  const ids = Array.from({ length: 1001 }, () => uuidv7())
  await addMessages(id, ids)
  const { cursor } = await pull(id, 0n, 1000)
  expect([await ack(id, cursor), await ack(id, cursor)]).toEqual([1000, 0])
  expect(idsOf(await pull(id))).toEqual(ids.slice(1000))
})

it('acknowledges long messages in portions, during which the router waits for the lane', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  const ids = Array.from({ length: 8 }, () => uuidv7())
  await addMessages(id, ids, longBody(MIB))
  const { messages, cursor } = await pull(id)
  const rest = await pull(id, cursor)
  const last = await pull(id, rest.cursor)
  expect([messages, rest.messages, last.messages].map(({ length }) => length)).toEqual([3, 3, 2])
  expect(await ack(id, last.cursor)).toBe(8)
  const { rows } = await sql<{ transactions: number }>`
    select count(distinct xmin::text)::int as transactions from webhook_delivery where webhook_id = ${id}
  `.execute(harness.ctx.db)
  expect(rows).toEqual([{ transactions: 3 }])
  expect((await lane(id)).pending).toBe(0)
  expect(await ack(id, last.cursor)).toBe(0)
})

it('returns what was handed out also while it is disabled, so that an acknowledgment of a ping concerns nothing unseen', async () => {
  const id = await addPulled({ topics: ['audits'] })
  await harness.audit('handed out')
  await waiting(id, 1)
  const first = await pull(id)
  await updateWebhook(harness.ctx, harness.scope, { id, body: { enabled: false }, outbound: harness.outbound })
  await pingWebhook(harness.ctx, harness.scope, id)
  const all = await pull(id)
  expect(all.messages.map(({ topic }) => topic)).toEqual(['audits', 'ping'])
  expect(all.messages[0]?.id).toBe(first.messages[0]?.id)
  expect(await ack(id, all.cursor)).toBe(2)
})

it('refuses pings while ten of them wait, and takes others once these are acknowledged', async () => {
  const id = await addPulled({ topics: [] })
  const ping = () => pingWebhook(harness.ctx, harness.scope, id)
  for (let count = 0; count < 10; count += 1) await ping()
  await expect(ping()).rejects.toThrow('10 pings of the webhook wait')
  const { messages, cursor } = await pull(id)
  expect(messages).toHaveLength(10)
  expect(await ack(id, cursor)).toBe(10)
  await ping()
  expect(await lane(id)).toMatchObject({ pending: 1 })
})

it('counts pings among the newest thousand messages', async () => {
  const { id } = await harness.addWebhook({ type: 'pull', topics: [] })
  const ping = () => pingWebhook(harness.ctx, harness.scope, id)
  const thousand = () => Array.from({ length: 1000 }, () => uuidv7())
  await addMessages(id, thousand())
  for (let count = 0; count < 10; count += 1) await ping()
  await expect(ping()).rejects.toThrow('10 pings of the webhook wait')
  await addMessages(id, thousand())
  await ping()
})

it('hands out only pings while it is disabled, and sends what is left once it has an address', async () => {
  const id = await addPulled({ topics: ['audits'], ed25519_signatures: true })
  await harness.audit('kept')
  await waiting(id, 1)
  const change = (body: Record<string, unknown>) =>
    updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })
  await change({ enabled: false })
  await pingWebhook(harness.ctx, harness.scope, id)
  const pings = await pull(id)
  expect(pings.messages.map(({ topic }) => topic)).toEqual(['ping'])
  expect(pings.messages[0]?.headers['webhook-signature']).toMatch(/^v1a,/)
  expect(await ack(id, pings.cursor)).toBe(1)
  const receiver = await startReceiver()
  await change({ type: 'http-post', url: receiver.url, enabled: true })
  await waitUntil('what was left', () =>
    receiver.received.some(({ events }) => events.some(({ message }) => message === 'kept')),
  )
  await expect(pull(id)).rejects.toThrow(/^Invalid field type: /)
  await receiver.kill()
})
