import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { addMs } from '../../../src/platform/time/clock.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Harness, createHarness } from '../harness.ts'
import { type Received, type Receiver, startReceiver } from '../receiver.ts'

let clock: TestClock
let harness: Harness
let receiver: Receiver
/** The messages that the receiver refuses, as `device number`. */
let refused: Set<string>
let refusal: { readonly status: number; readonly headers: Record<string, string> }
beforeAll(async () => {
  clock = createTestClock()
  harness = await createHarness(clock)
  await harness.start()
})
afterAll(() => harness.close())
beforeEach(async () => {
  refused = new Set()
  refusal = { status: 500, headers: {} }
  receiver = await startReceiver()
  receiver.answer((_request, response, received) => {
    const isRefused = namesOf(received).some((name) => refused.has(name))
    response.writeHead(isRefused ? refusal.status : 200, isRefused ? refusal.headers : {}).end()
  })
})
afterEach(async () => {
  await receiver.kill()
  await harness.ctx.db.deleteFrom('webhook').execute()
})

const namesOf = ({ events }: Received) => events.map((event) => String(event['device_name']))
const attempts = () => receiver.received.flatMap(namesOf)
const attemptsOf = (device: string) => attempts().filter((name) => name.startsWith(device))

/** Commits events; each name is a device and a number. */
async function send(names: readonly string[]): Promise<void> {
  await harness.deviceEvents(names, (name) => name.charAt(0))
  clock.advance(1000)
  harness.wake()
}

const lane = () => harness.ctx.db.selectFrom('webhookLane').selectAll().executeTakeFirstOrThrow()

/** Waits until the lane is released with so many messages left. */
const left = (pending: number) =>
  waitUntil(`${pending} left`, async () => {
    const found = await lane()
    return found.pending === pending && found.leaseUntil === null ? found : null
  })

function addWebhook(order: 'webhook' | 'device') {
  const body = { url: receiver.url, topics: ['device-events'], single_event_per_message: true, order }
  return harness.addWebhook(body)
}

it('of a webhook: sends no message before the former one was taken or given up', async () => {
  await addWebhook('webhook')
  refused.add('a2')
  await send(['a1', 'a2', 'b1', 'a3'])
  const openUntil = (await left(3)).openUntil as Date
  expect(attempts()).toEqual(['a1', 'a2'])
  await send(['b2'])
  await left(4)
  expect(attempts()).toEqual(['a1', 'a2'])
  clock.advance(openUntil.getTime() - clock.now().getTime())
  harness.wake()
  const second = await waitUntil('another attempt', async () => {
    const found = await lane()
    // The lane may have been read before the attempt began.
    const isLater = (found.openUntil ?? openUntil) > openUntil
    return attempts().length === 3 && found.leaseUntil === null && isLater ? found : null
  })
  expect(attempts()).toEqual(['a1', 'a2', 'a2'])
  // The last attempt: the message is parked, and the next ones are sent.
  await harness.ctx.db.updateTable('webhookMessage').set({ attempt: 11 }).where('attempt', '=', 2).execute()
  clock.advance((second.openUntil as Date).getTime() - clock.now().getTime())
  harness.wake()
  await left(0)
  expect(attempts()).toEqual(['a1', 'a2', 'a2', 'a2', 'b1', 'a3', 'b2'])
  expect(await harness.ctx.db.selectFrom('webhookParkedMessage').select('reason').execute()).toEqual([
    { reason: 'exhausted' },
  ])
})

it('of a device: messages of other devices do not wait, and those of the device follow in order', async () => {
  await addWebhook('device')
  refused.add('a2')
  await send(['a1', 'a2', 'b1', 'a3', 'b2', 'c1'])
  await left(2)
  expect(attemptsOf('a')).toEqual(['a1', 'a2'])
  expect(attemptsOf('b')).toEqual(['b1', 'b2'])
  // This one is due before the one that is retried.
  await send(['a4', 'b3'])
  await left(3)
  expect(attempts()).toHaveLength(6)
  refused.delete('a2')
  clock.advance(5000)
  harness.wake()
  await left(0)
  expect(attemptsOf('a')).toEqual(['a1', 'a2', 'a2', 'a3', 'a4'])
  expect(attemptsOf('b')).toEqual(['b1', 'b2', 'b3'])
})

it.each(['device', 'webhook'] as const)('of a %s: is kept when the receiver asks for a pause', async (order) => {
  await addWebhook(order)
  refused.add('a2')
  refusal = { status: 429, headers: { 'retry-after': '20' } }
  await send(['a1', 'a2', 'a3'])
  await left(2)
  expect(attempts()).toEqual(['a1', 'a2'])
  await send(['a4'])
  await left(3)
  refused.delete('a2')
  clock.advance(20_000)
  harness.wake()
  await left(0)
  expect(attempts()).toEqual(['a1', 'a2', 'a2', 'a3', 'a4'])
})

it('of a device: is kept when the receiver is back before a message is tried again', async () => {
  const { id } = await addWebhook('device')
  refused.add('a2')
  await send(['a1', 'a2', 'b1', 'a3', 'a4'])
  await left(3)
  const later = { dueAt: addMs(clock.now(), 12 * 3600e3) }
  await harness.ctx.db.updateTable('webhookMessage').set(later).where('attempt', '>', 0).execute()
  // A claim delays those behind the one that is tried again.
  await send(['b2'])
  await waitUntil('b2 arrives', () => attemptsOf('b').length === 2)
  await left(3)
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: clock.now() }).execute()
  refused.delete('a2')
  await pingWebhook(harness.ctx, harness.scope, id)
  await waitUntil('the receiver is back', async () => (await lane()).failingSince === null)
  await send(['a5'])
  await waitUntil('a5 arrives', () => attempts().includes('a5'))
  expect(attemptsOf('a')).toEqual(['a1', 'a2', 'a2', 'a3', 'a4', 'a5'])
})

it('of a device: a message has events of one device, and hundreds of messages keep the order of each device', async () => {
  await addWebhook('device')
  const names = Array.from({ length: 150 }, (_, n) => `${'abcde'.charAt(n % 5)}${n}`)
  let failures = 0
  receiver.answer((_request, response) => response.writeHead((failures += 1) % 40 === 0 ? 500 : 200).end())
  await send(names)
  await waitUntil('all delivered', async () => {
    clock.advance(1000)
    harness.wake()
    return new Set(attempts()).size === 150 && (await lane()).pending === 0
  })
  for (const device of 'abcde') {
    const first = [...new Set(attemptsOf(device))]
    expect(first).toEqual(names.filter((name) => name.startsWith(device)))
    // A message that is sent again comes directly after itself.
    const again = attemptsOf(device).filter((name, place, all) => place === 0 || all[place - 1] !== name)
    expect(again).toEqual(first)
  }
})

const auditsOf = ({ events }: Received) =>
  events.map(({ message }) => String(message)).filter((message) => message.startsWith('event'))
const isDrained = async () => {
  clock.advance(30_000)
  harness.wake()
  const events = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
  return events.length === 0 && (await harness.waiting()).messages === 0
}

it('of a webhook: is kept while the webhook is changed again and again, and messages fail', async () => {
  const body = { url: `${receiver.url}/0`, topics: ['audits'], single_event_per_message: true, order: 'webhook' }
  const { id } = await harness.addWebhook(body)
  let requests = 0
  receiver.answer((_request, response) => response.writeHead((requests += 1) % 6 === 0 ? 500 : 200).end())
  const committed: string[] = []
  for (let n = 0; n < 40; n += 1) {
    committed.push(`event ${n}`)
    await harness.audit(`event ${n}`)
    if (n % 4 > 0) continue
    const changes = [
      { name: `name ${n}` },
      { url: `${receiver.url}/${n}` },
      { secret: `s${n}` },
      { headers: { a: 'b' } },
    ]
    const change = changes[(n / 4) % changes.length] ?? {}
    await updateWebhook(harness.ctx, harness.scope, { id, body: change, outbound: harness.outbound })
    // Changes meet a lane that is sending, one that is paused after a failure, and one at rest.
    if (n % 12 === 0) await waitUntil('everything delivered', isDrained)
  }
  await waitUntil('everything delivered', isDrained)
  expect([...new Set(receiver.received.flatMap(auditsOf))]).toEqual(committed)
  expect(new Set(receiver.received.map(({ path }) => path)).size).toBeGreaterThan(1)
}, 90_000)

it('of a webhook: holds for all that its lane had not started when it was requested', async () => {
  const body = { url: receiver.url, topics: ['audits'], single_event_per_message: true }
  const { id } = await harness.addWebhook(body)
  await harness.audit('event 0')
  await waitUntil('the lane is held', () => receiver.received.flatMap(auditsOf).includes('event 0'))
  const held: (() => void)[] = []
  receiver.answer((_request, response) => void held.push(() => response.writeHead(200).end()))
  for (let n = 1; n <= 20; n += 1) await harness.audit(`event ${n}`)
  await waitUntil('requests in flight', () => held.length > 0)
  const started = new Set(receiver.received.flatMap(auditsOf))
  await updateWebhook(harness.ctx, harness.scope, { id, body: { order: 'webhook' }, outbound: harness.outbound })
  for (let n = 21; n <= 25; n += 1) await harness.audit(`event ${n}`)
  receiver.answer((_request, response) => response.writeHead(200).end())
  for (const answer of held) answer()
  await waitUntil('everything delivered', isDrained)
  const others = receiver.received.flatMap(auditsOf).filter((message) => !started.has(message))
  const waiting = Array.from({ length: 26 }, (_, n) => `event ${n}`).filter((message) => !started.has(message))
  expect(others).toEqual(waiting)
  expect(waiting.length).toBeGreaterThan(5)
})
