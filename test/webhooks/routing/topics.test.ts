import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { appendAudit } from '../../../src/events/append.ts'
import { type NewOutboxEvent, insertOutbox } from '../../../src/events/store.ts'
import { type Topic, topics } from '../../../src/events/topics.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { pingWebhook } from '../../../src/webhooks/pings/ping-webhook.ts'
import { messageSchemaOf, webhookTopics } from '../../../src/webhooks/topics.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { type Harness, createHarness, releaseAtOnce } from '../harness.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { keysOf } from '../../../src/platform/records.ts'

const clock = createTestClock()
let harness: Harness
let siteId: string
let receivers: Receiver[] = []
beforeEach(async () => {
  harness = await createHarness(clock, releaseAtOnce)
  siteId = await harness.addSite('Here')
})
afterEach(async () => {
  await harness.close()
  for (const receiver of receivers.splice(0)) await receiver.kill()
})

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver()
  receivers.push(receiver)
  return receiver
}

/** Starts a receiver with a webhook for the topics, of the organization or of the site. */
async function subscribe(subscribed: readonly string[], of: string | null): Promise<Receiver> {
  const receiver = await openReceiver()
  await harness.addWebhook({ url: receiver.url, topics: subscribed }, of)
  return receiver
}

/** Commits the topic's example, and advances the clock past the time for which the router may wait for more events. */
async function emitExample(topic: Topic): Promise<void> {
  const { example, lingerMs } = topics[topic]
  // The compiler knows each pair of topic and event, but not over a union.
  const row = { orgId: harness.scope.orgId, siteId, topic, event: example } as NewOutboxEvent
  await inTx(harness.ctx, (tx) => insertOutbox(tx, [row], clock.now()))
  clock.advance(lingerMs)
  harness.wake()
}

const messagesOf = ({ received }: Receiver) => received.map(({ topic, events }) => ({ topic, events }))

const all = keysOf(topics)
const subscribable = all.filter((topic) => topics[topic].subscribers !== 'nobody')

it('events wait for others only if nobody waits for them', () => {
  const waiting = all.filter((topic) => topics[topic].lingerMs > 0)
  expect(waiting.toSorted()).toEqual(['device-events', 'mxedge-events', 'upgrade-events'])
})

it.each(subscribable)('events of %s reach the webhooks that subscribe, and no others', async (topic) => {
  const others = webhookTopics.map(({ key }) => key).filter((key) => key !== topic)
  const ofSite = await subscribe([topic], siteId)
  const elsewhere = await subscribe([topic], await harness.addSite('There'))
  const ofOthers = await subscribe(others, siteId)
  const ofOrg = topics[topic].subscribers === 'org' ? await subscribe([topic], null) : null
  if (ofOrg === null) await expect(subscribe([topic], null)).rejects.toMatchObject({ code: 'invalid' })
  await harness.start()
  await emitExample(topic)
  await harness.drained()
  const wireName = webhookTopics.find(({ key }) => key === topic)?.wireName
  const message = { topic: wireName, events: [topics[topic].example] }
  expect(messagesOf(ofSite)).toEqual([message])
  const schema = messageSchemaOf(topic)
  expect([...Value.Errors(schema, messagesOf(ofSite)[0])]).toEqual([])
  expect(Value.Check(schema, { topic: 'another', events: message.events })).toBe(false)
  if (ofOrg !== null) expect(messagesOf(ofOrg)).toEqual([message])
  expect([...messagesOf(elsewhere), ...messagesOf(ofOthers)]).toEqual([])
})

it('events of changes have the shape of their topic and no other members, although statements compose them', async () => {
  const receiver = await subscribe(['audits'], null)
  const deviceId = '00000000-0000-0000-1000-020000000001'
  const change = { before: { name: 'A' }, after: { name: 'B' } }
  const { ctx, scope } = harness
  await inTx(ctx, async (tx) => {
    await appendAudit(tx, scope, { message: 'of the organization', at: clock.now() })
    await appendAudit(tx, scope, { message: 'of a device', siteId, deviceId, ...change, at: clock.now() })
  })
  await harness.start()
  await harness.drained()
  const events = receiver.received.flatMap((message) => message.events)
  expect(events).toEqual([
    expect.objectContaining({ message: 'of the organization' }),
    expect.objectContaining({ message: 'of a device', site_name: 'Here', device_id: deviceId, ...change }),
  ])
  const shape = Type.Object(topics.audits.event.properties, { additionalProperties: false })
  for (const event of events) expect([...Value.Errors(shape, event)]).toEqual([])
})

it('the schema of a topic has all its names', () => {
  for (const { key, aliases } of webhookTopics.filter(({ isEmitted }) => isEmitted))
    for (const alias of aliases) expect(messageSchemaOf(alias)).toEqual(messageSchemaOf(key))
  expect(() => messageSchemaOf('location_asset')).toThrow(expect.objectContaining({ code: 'not_found' }))
})

it('a ping has the shape of its topic, and comes once to a webhook that subscribes to it', async () => {
  const receiver = await openReceiver()
  const { id } = await harness.addWebhook({ url: receiver.url, topics: ['ping'], name: 'Alerts' })
  await harness.start()
  await pingWebhook(harness.ctx, harness.scope, id)
  const [message] = await receiver.waitFor(1)
  expect(message).toMatchObject({ topic: 'ping', events: [{ id, name: 'Alerts' }] })
  expect([...Value.Errors(topics.ping.event, message?.events[0])]).toEqual([])
  await harness.drained()
  expect(receiver.received).toHaveLength(1)
})

it('events come once to a webhook that subscribes by another name, with the name of the topic', async () => {
  const receiver = await openReceiver()
  const body = { url: receiver.url, topics: ['device_updowns', 'site-sle', 'device-updowns'] }
  expect((await harness.addWebhook(body)).topics).toEqual(body.topics)
  await harness.start()
  await emitExample('device-updowns')
  await harness.drained()
  expect(messagesOf(receiver)).toEqual([{ topic: 'device-updowns', events: [topics['device-updowns'].example] }])
})
