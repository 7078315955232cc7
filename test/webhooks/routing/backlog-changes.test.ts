import type { ServerResponse } from 'node:http'
import { beforeEach, expect, it } from 'vitest'
import { deleteOrg } from '../../../src/removal/delete-org.ts'
import { createWebhook } from '../../../src/webhooks/create-webhook.ts'
import { deleteWebhook } from '../../../src/webhooks/delete-webhook.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { addBacklog } from '../add-backlog.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { createLaneClock } from '../lane-clock.ts'
import { countBrokenLanes } from '../lanes/broken-lanes.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

const clock = createTestClock()
const single = { topics: ['audits'], single_event_per_message: true }
/** More than wait in a lane. */
const EVENTS = 400
/** The most requests of a lane at a time. */
const MAX_IN_FLIGHT = 8
let harness: Harness
let receiver: Receiver
beforeEach(async () => {
  ;({ harness, receiver } = await startEngine(clock, createLaneClock().options))
})

const isDrained = async (): Promise<boolean> =>
  (await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()).length === 0 &&
  (await harness.waiting()).messages === 0

/** The texts of the events of the backlog that arrived. */
const textsOf = ({ received }: Receiver) =>
  received.flatMap(({ events }) => events.map(({ message }) => String(message)).filter((text) => /^m\d/.test(text)))

/** Makes a change while requests of a backlog are in flight, its next events wait in their lane, and others in the outbox. */
async function changeMeanwhile(change: (id: string) => Promise<unknown>): Promise<string[]> {
  const { id } = await harness.addWebhook({ url: receiver.url, ...single })
  await harness.start()
  await harness.audit('first')
  await receiver.waitFor(1)
  await waitUntil('everything written', isDrained)
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  const texts = await addBacklog(harness, EVENTS)
  await receiver.waitFor(2)
  await change(id)
  receiver.answer(status(200))
  for (const response of held) response.writeHead(200).end()
  await waitUntil('everything written', async () => {
    clock.advance(1000)
    harness.wake()
    return isDrained()
  })
  expect(await countBrokenLanes(harness)).toBe(0)
  return texts
}

const update = (id: string, body: Record<string, unknown>) =>
  updateWebhook(harness.ctx, harness.scope, { id, body, outbound: harness.outbound })

const changes: Record<string, Record<string, unknown>> = {
  'gathers events': { single_event_per_message: false },
  'has an order': { order: 'webhook' },
  'has a rate limit': { rate_limit: { messages: 300, per: 'second' } },
}

for (const [name, body] of Object.entries(changes))
  it(`sends each event of a backlog once when its webhook ${name} from then on`, async () => {
    const texts = await changeMeanwhile((id) => update(id, body))
    expect(textsOf(receiver).toSorted()).toEqual(texts)
    if (body['order'] !== undefined) expect(textsOf(receiver).slice(MAX_IN_FLIGHT)).toEqual(texts.slice(MAX_IN_FLIGHT))
  })

it('sends of a backlog what matches a filter that its webhook has got meanwhile', async () => {
  const texts = await changeMeanwhile((id) => update(id, { filter: '$.events[?@.message == "m399"]' }))
  const sent = textsOf(receiver).toSorted()
  expect(sent).toEqual([...texts.slice(0, sent.length - 1), 'm399'])
  expect(sent.length).toBeLessThanOrEqual(MAX_IN_FLIGHT + 1)
})

it('sends to a new webhook the part of a backlog that had not been passed on', async () => {
  const other = await startReceiver()
  const options = { body: { url: other.url, ...single }, outbound: harness.outbound, limits: defaultWebhookLimits }
  const texts = await changeMeanwhile(() => createWebhook(harness.ctx, harness.scope, options))
  expect(textsOf(receiver).toSorted()).toEqual(texts)
  expect(textsOf(other).length).toBeGreaterThan(100)
  await other.kill()
})

const ends: Record<string, (id: string) => Promise<unknown>> = {
  disabled: (id) => update(id, { enabled: false }),
  'without its topic': (id) => update(id, { topics: ['alarms'] }),
  deleted: (id) => deleteWebhook(harness.ctx, harness.scope, id),
  'deleted with its organization': () => deleteOrg(harness.ctx, harness.scope),
}

for (const [name, change] of Object.entries(ends))
  it(`starts nothing more of a backlog when its webhook is ${name}`, async () => {
    const texts = await changeMeanwhile(change)
    const sent = textsOf(receiver).toSorted()
    expect(sent).toEqual(texts.slice(0, sent.length))
    expect(sent.length).toBeLessThanOrEqual(MAX_IN_FLIGHT)
  })
