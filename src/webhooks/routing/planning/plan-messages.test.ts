import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deviceKeyOf } from '../device-key.ts'
import { type RoutedEvent, planMessages } from './plan-messages.ts'
import type { Subscriber } from './plan-round.ts'

type Listener = Subscriber & { readonly topics: readonly string[] }
type Event = Omit<RoutedEvent, 'recipients'> & { readonly siteId: string | null }

const counter = () => {
  let next = 0
  return () => String((next += 1))
}

const event = fc.record({
  id: fc.uuid(),
  sentTo: fc.constant(null),
  orgId: fc.constantFrom('org-1', 'org-2'),
  siteId: fc.constantFrom(null, 'site-a', 'site-b'),
  topic: fc.constantFrom('audits', 'device-events', 'alarms'),
  json: fc
    .tuple(fc.integer(), fc.constantFrom(1, 1000, 100_000, 300_000))
    .map(([n, size]) => JSON.stringify({ n, mac: n % 2 === 0 ? 'AA' : 'bb', pad: 'x'.repeat(size) })),
})
const listener: fc.Arbitrary<Listener> = fc.record({
  orgId: fc.constantFrom('org-1', 'org-2'),
  id: fc.uuid(),
  siteId: fc.constantFrom(null, 'site-a', 'site-b'),
  topics: fc.array(fc.constantFrom('audits', 'device-events', 'zone'), { maxLength: 4 }),
  singleEvent: fc.boolean(),
  filter: fc.constant(null),
  byDevice: fc.boolean(),
})

const of =
  (mac: string) =>
  (event: { readonly mac: string }): boolean =>
    event.mac === mac

function isRecipient({ orgId, siteId, topics }: Listener, one: Event): boolean {
  return orgId === one.orgId && topics.includes(one.topic) && (siteId === null || siteId === one.siteId)
}

function withRecipients(events: readonly Event[], subscribers: readonly Listener[]): RoutedEvent[] {
  return events.map((one) => ({ ...one, recipients: subscribers.filter((subscriber) => isRecipient(subscriber, one)) }))
}

describe('planMessages', () => {
  it('gives every subscriber its events, once, in order, separated by topic, in messages of limited size', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 40 }),
        fc.uniqueArray(listener, { maxLength: 5, selector: ({ id }) => id }),
        (events, subscribers) => {
          const messages = planMessages(withRecipients(events, subscribers), counter())
          expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
          for (const one of subscribers) {
            const own = messages.filter(({ webhookId }) => webhookId === one.id)
            for (const topic of ['audits', 'device-events', 'alarms', 'zone']) {
              const sent = own
                .filter((message) => message.topic === topic)
                .map(({ body }) => JSON.parse(body.toString()))
              expect(sent.every((body) => body.topic === topic)).toBe(true)
              const expected = events.filter((each) => each.topic === topic && isRecipient(one, each))
              const all = expected.map(({ json }) => JSON.parse(json))
              const got = sent.flatMap(({ events: batch }) => batch)
              expect(got).toHaveLength(all.length)
              if (one.byDevice) for (const mac of ['AA', 'bb']) expect(got.filter(of(mac))).toEqual(all.filter(of(mac)))
              else expect(got).toEqual(all)
            }
            for (const { eventCount, body, orgId, orderKey } of own) {
              const keys = new Set(JSON.parse(body.toString()).events.map(deviceKeyOf))
              if (one.byDevice) expect(keys).toEqual(new Set([orderKey]))
              else expect(orderKey).toBeNull()
              expect(orgId).toBe(one.orgId)
              expect(eventCount).toBe(JSON.parse(body.toString()).events.length)
              expect(eventCount).toBeLessThanOrEqual(one.singleEvent ? 1 : 100)
              if (eventCount > 1) expect(body.length).toBeLessThan(257 * 1024)
            }
          }
        },
      ),
      { numRuns: 50 },
    )
  })

  it('makes one body for all who get the same events', () => {
    const recipients: Subscriber[] = ['v', 'w'].map((id) => ({
      orgId: 'o',
      id,
      siteId: null,
      singleEvent: false,
      filter: null,
      byDevice: false,
    }))
    const events = ['1', '2'].map((json) => ({ id: json, orgId: 'o', topic: 'audits', json, recipients, sentTo: null }))
    const alone = { id: '3', orgId: 'o', topic: 'audits', json: '3', recipients: recipients.slice(1), sentTo: null }
    expect(new Set(planMessages(events, counter()).map(({ body }) => body)).size).toBe(1)
    expect(new Set(planMessages([...events, alone], counter()).map(({ body }) => body)).size).toBe(2)
  })

  it('gives what may have been sent already the same id and body, for the webhook that may have it', () => {
    const [first, second]: Subscriber[] = ['v', 'w'].map((id) => ({
      orgId: 'o',
      id,
      siteId: null,
      singleEvent: false,
      filter: null,
      byDevice: false,
    }))
    const recipients = [first, second].filter((one) => one !== undefined)
    const events = ['1', '2'].map((json) => ({
      id: `e${json}`,
      orgId: 'o',
      topic: 'audits',
      json,
      recipients,
      sentTo: 'v',
    }))
    const messages = planMessages(events, counter()).map(({ id, webhookId, body }) => [id, webhookId, body.toString()])
    expect(new Set(messages)).toEqual(
      new Set([
        ['1', 'w', '{"topic":"audits","events":[1,2]}'],
        ['e1', 'v', '{"topic":"audits","events":[1]}'],
        ['e2', 'v', '{"topic":"audits","events":[2]}'],
      ]),
    )
  })

  it('fills messages up to a hundred events or a quarter of a mebibyte', () => {
    const all: Subscriber = { orgId: 'o', id: 'w', siteId: null, singleEvent: false, filter: null, byDevice: false }
    const events = (count: number, size: number): RoutedEvent[] =>
      Array.from({ length: count }, () => ({
        id: 'e',
        orgId: 'o',
        sentTo: null,
        recipients: [all],
        topic: 'audits',
        json: JSON.stringify('ü'.repeat((size - 2) / 2)),
      }))
    const counts = (some: RoutedEvent[]) => planMessages(some, counter()).map(({ eventCount }) => eventCount)
    expect(counts(events(250, 10))).toEqual([100, 100, 50])
    expect(counts(events(5, 128 * 1024))).toEqual([2, 2, 1])
    expect(counts(events(2, 300 * 1024))).toEqual([1, 1])
    expect(counts([])).toEqual([])
  })
})
