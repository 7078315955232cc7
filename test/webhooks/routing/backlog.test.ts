import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import type { WebhookWorkerOptions } from '../../../src/webhooks/workers.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { addBacklog, addEvents } from '../add-backlog.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type LaneClock, createLaneClock } from '../lane-clock.ts'
import { type Receiver, holdAnswers, releaseAnswers, startReceiver, status } from '../receiver.ts'
import { crashAfter, holdLane, untilWritten } from './held-lane.ts'

const testClock = createTestClock()
/** Goes on a little whenever it is read. */
const clock = {
  ...testClock,
  now() {
    testClock.advance(1)
    return testClock.now()
  },
}
const single = { topics: ['audits'], single_event_per_message: true, secret: 'backlog' }
/** More than wait in a lane. */
const EVENTS = 400
let laneClock: LaneClock
let harness: Harness
let receiver: Receiver
/** The ids of all events, in the order of their commits. */
let ids: string[]
beforeEach(async () => {
  laneClock = createLaneClock()
  ;({ harness, receiver } = await startEngine(clock, laneClock.options))
  ids = []
  onTestFinished(harness.ctx.wakes.on('outbox', (more) => void ids.push(...more)))
})

const events = () => harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
const messages = () => harness.ctx.db.selectFrom('webhookMessage').select(['id', 'attempt']).execute()
const idOf = ({ headers }: Receiver['received'][number]) => String(headers['webhook-id'])
const textsOf = ({ received }: Receiver) =>
  received.flatMap(({ events: of }) => of.map(({ message }) => String(message)))

/** Has the lane of a webhook held, and forgets the event that this takes. */
async function openLane(options: Partial<WebhookWorkerOptions> = {}) {
  const lane = await holdLane({ harness, receiver }, single, options)
  receiver.received.splice(0)
  ids.splice(0)
  return lane
}

it('sends a backlog of a held lane in its order and with the ids of its events, without messages', async () => {
  const { outbound } = harness
  const started: string[] = []
  await openLane({
    outbound: {
      ...outbound,
      send(request) {
        started.push(JSON.parse(String(request.body)).events[0].message)
        return outbound.send(request)
      },
    },
  })
  const held = holdAnswers(receiver)
  const texts = await addBacklog(harness, EVENTS)
  await receiver.waitFor(1)
  expect([(await events()).length, await messages()]).toEqual([EVENTS, []])
  receiver.answer(status(200))
  releaseAnswers(held)
  await untilWritten(harness)
  expect(receiver.received.map(idOf).toSorted()).toEqual(ids.toSorted())
  expect(textsOf(receiver).toSorted()).toEqual(texts)
  // Requests in flight may overtake each other.
  expect(started).toEqual(['first', ...texts])
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('makes messages of the events that its lane has no room for while the receiver does not answer', async () => {
  await openLane()
  const held = holdAnswers(receiver)
  const texts = await addBacklog(harness, EVENTS)
  await receiver.waitFor(1)
  expect(await messages()).toEqual([])
  await waitUntil('the others are routed', async () => {
    laneClock.advance(100)
    return (await messages()).length >= EVENTS - 256 - held.length
  })
  expect((await events()).length + (await messages()).length).toBe(EVENTS)
  // The lane counts the messages.
  expect(await countBrokenLanes(harness)).toBe(0)
  receiver.answer(status(200))
  releaseAnswers(held)
  await untilWritten(harness)
  expect([...new Set(textsOf(receiver))].toSorted()).toEqual(texts)
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('sends each event of a backlog once while the outbox is searched', async () => {
  await openLane()
  receiver.answer((_request, response) => {
    response.writeHead(200).end()
    // There may be a committed event that was not announced.
    harness.ctx.wakes.wake('outbox')
  })
  const texts = await addBacklog(harness, 2 * EVENTS)
  await untilWritten(harness)
  expect(textsOf(receiver).toSorted()).toEqual(texts.toSorted())
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('counts the events of a backlog that exceed the limit of waiting messages', async () => {
  const { workers } = await openLane({ limits: { ...defaultWebhookLimits, pendingPerWebhook: 10 } })
  receiver.answer(() => {})
  await addBacklog(harness, EVENTS)
  const overflowed = async (): Promise<number> => {
    const lane = await harness.ctx.db.selectFrom('webhookLane').select('overflowed').executeTakeFirstOrThrow()
    return Number(lane.overflowed)
  }
  await waitUntil('the others are routed', async () => {
    laneClock.advance(100)
    return (await overflowed()) > 0
  })
  // Then the lane writes what it has accepted; only events in flight are left in the outbox.
  await workers.stop()
  const waiting = (await messages()).length
  expect((await overflowed()) + waiting + (await events()).length).toBe(EVENTS)
  // What the lane had accepted is kept.
  expect(waiting).toBeLessThanOrEqual(10 + 256)
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('routes the rest of a backlog by the new settings of its webhook', async () => {
  const other = await startReceiver()
  const { id } = await openLane()
  const held = holdAnswers(receiver)
  const texts = await addBacklog(harness, EVENTS)
  await receiver.waitFor(1)
  await updateWebhook(harness.ctx, harness.scope, { id, body: { url: other.url }, outbound: harness.outbound })
  releaseAnswers(held)
  await untilWritten(harness)
  const sent = textsOf(receiver)
  expect(sent.length).toBeLessThan(32)
  // The last one reports the change.
  const rest = textsOf(other).filter((text) => text.startsWith('m'))
  expect([...sent, ...rest].toSorted()).toEqual(texts)
  await other.kill()
})

it('tries an event of a backlog again as a message with its id, and keeps the others', async () => {
  await openLane()
  receiver.answer((_request, response, { events: [event] }) => {
    response.writeHead(event?.['message'] === 'm100' ? 500 : 200).end()
  })
  const texts = await addBacklog(harness, EVENTS)
  await waitUntil(
    'the others are written',
    async () => (await events()).length === 0 && (await messages()).length === 1,
  )
  receiver.answer(status(200))
  clock.advance(60_000)
  // The lane ends, and the next claim finds the message.
  laneClock.advance(1000)
  await untilWritten(harness)
  expect(textsOf(receiver).toSorted()).toEqual([...texts, 'm100'].toSorted())
  expect(new Set(receiver.received.map(idOf))).toEqual(new Set(ids))
  expect(await countBrokenLanes(harness)).toBe(0)
})

it('repeats 32 events of a backlog after a crash, with their ids and bodies', async () => {
  const { workers } = await openLane()
  const texts = await crashAfter(harness, workers, async () => {
    const all = await addBacklog(harness, EVENTS)
    await receiver.waitFor(32)
    return all
  })
  await harness.start()
  await untilWritten(harness)
  const byId = Map.groupBy(receiver.received, idOf)
  const repeated = [...byId.values()].filter((same) => same.length > 1)
  expect(repeated.length).toBe(32)
  for (const same of byId.values()) expect(new Set(same.map(({ raw }) => raw.toString())).size).toBe(1)
  expect([...new Set(textsOf(receiver))].toSorted()).toEqual(texts)
})

it('keeps the events of a backlog whose receiver is gone, because they happened before', async () => {
  const { id } = await openLane()
  receiver.answer(status(410))
  const texts = await addBacklog(harness, 200)
  await waitUntil('disabled', async () => {
    const { enabled } = await harness.ctx.db.selectFrom('webhook').select('enabled').executeTakeFirstOrThrow()
    return !enabled
  })
  await waitUntil('nothing is in the outbox', async () => (await events()).length === 0)
  expect(await messages()).toHaveLength(200)
  receiver.answer(status(200))
  await updateWebhook(harness.ctx, harness.scope, { id, body: { enabled: true }, outbound: harness.outbound })
  await untilWritten(harness)
  expect([...new Set(textsOf(receiver))].filter((text) => text.startsWith('m')).toSorted()).toEqual(texts)
})

it('does not let the backlog of a webhook delay that of another one of its organization', async () => {
  const other = await startReceiver()
  const sites = [await harness.addSite('slow'), await harness.addSite('fast')] as const
  await harness.addWebhook({ url: receiver.url, ...single }, sites[0])
  await harness.addWebhook({ url: other.url, ...single }, sites[1])
  await harness.start()
  for (const site of sites) await harness.audit('first', site)
  await receiver.waitFor(1)
  await other.waitFor(1)
  await untilWritten(harness)
  receiver.answer(() => {})
  const of = (count: number, siteId: string) => Array.from({ length: count }, () => ({ message: 'm', siteId }))
  await addEvents(harness, [...of(EVENTS, sites[0]), ...of(10, sites[1])])
  await other.waitFor(11)
  // Nothing waits for room in the lane of the slow receiver.
  expect(await events()).toEqual([])
  await receiver.kill()
  await other.kill()
})

it('writes the part of a backlog that a lane has accepted, so that events routed after it are sent later', async () => {
  const { workers } = await openLane()
  receiver.answer(() => {})
  const [long, short] = [{ notes: 'x'.repeat(5000) }, { notes: '' }]
  const names = Array.from({ length: 20 }, (_, index) => `m${String(index).padStart(2, '0')}`)
  await addEvents(
    harness,
    names.map((message, index) => ({ message, after: index === 10 ? long : short })),
  )
  await waitUntil('the long event and those behind it are routed', async () => (await messages()).length === 10)
  await workers.stop()
  const rows = await harness.ctx.db.selectFrom('webhookMessage').select('body').orderBy('dueAt').orderBy('id').execute()
  const waiting = rows.flatMap(({ body }) => /m\d\d/.exec(body.toString())?.[0] ?? [])
  expect(waiting.length).toBeGreaterThan(10)
  expect(waiting).toEqual(names.slice(-waiting.length))
})
