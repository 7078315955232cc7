import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { topics as emitted } from '../events/topics.ts'
import { topicFault, topicNameOf, webhookTopics } from './topics.ts'
import { keysOf } from '../platform/records.ts'

const all = keysOf(emitted)

describe.each(all)('the topic %s', (topic) => {
  const { event, example, subscribers } = emitted[topic]

  test('has an example of its events, and requires all of its fields', () => {
    expect([...Value.Errors(event, example)]).toEqual([])
    const required: readonly string[] = event.required
    expect(required.length).toBeGreaterThan(0)
    for (const member of required) {
      const rest = Object.fromEntries(Object.entries(example).filter(([name]) => name !== member))
      expect(Value.Check(event, rest), member).toBe(false)
    }
  })

  test('is listed for the scopes that can subscribe', () => {
    const listed = webhookTopics.find(({ key }) => key === topic)
    const { hasDeliveryResults, allowsSingleEventPerMessage } = emitted[topic]
    const names = { key: topic, wireName: topic, aliases: expect.any(Array) }
    const traits = { ...names, isEmitted: true, hasDeliveryResults, allowsSingleEventPerMessage }
    expect(listed).toEqual(subscribers === 'nobody' ? undefined : { ...traits, forOrg: subscribers === 'org' })
    // Clients subscribe to pings, which come without that.
    expect(topicFault(topic, 'site') === null).toBe(subscribers !== 'nobody' || topic === 'ping')
    expect(topicFault(topic, 'org') === null).toBe(subscribers === 'org' || topic === 'ping')
  })
})

test('sites have topics of their own', () => {
  expect(topicFault('zone', 'site')).toBeNull()
  for (const topic of ['zone', 'location_asset']) expect(topicFault(topic, 'org')).toMatch(/site webhooks only/)
  for (const topic of ['', 'AUDITS', 'constructor', 'device_event'])
    expect(topicFault(topic, 'site')).toContain(`"${topic}" is not a known topic`)
})

test('the list matches the accepted topics, by each of their names', () => {
  for (const { key, aliases, forOrg } of webhookTopics)
    for (const name of [key, ...aliases]) {
      expect(topicNameOf(name)).toBe(key)
      expect(topicFault(name, 'site')).toBeNull()
      expect(topicFault(name, 'org') === null).toBe(forOrg)
    }
  expect(webhookTopics.find(({ key }) => key === 'device-events')?.aliases).toEqual(['device_events'])
  expect(webhookTopics.find(({ key }) => key === 'audits')).toMatchObject({ hasDeliveryResults: true })
  expect(webhookTopics.find(({ key }) => key === 'zone')).toMatchObject({ hasDeliveryResults: false })
})

test('names that clients also use are those of topics', () => {
  expect(topicNameOf('device_events')).toBe('device-events')
  expect(topicNameOf('zone')).toBe('zone')
  expect(topicNameOf('constructor')).toBe('constructor')
  for (const alias of ['audit', 'device_updowns', 'mxedge_events', 'site_sle', 'site-sle', 'ping'])
    for (const scope of ['org', 'site'] as const) expect(topicFault(alias, scope), alias).toBeNull()
})
