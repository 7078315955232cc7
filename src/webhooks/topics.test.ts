import { expect, test } from 'vitest'
import { topics as emitted } from '../events/topics.ts'
import { topicFault, webhookTopics } from './topics.ts'

test('whatever is emitted can be subscribed to, except the ping that everyone gets', () => {
  for (const topic of Object.keys(emitted).filter((name) => name !== 'ping')) {
    expect(topicFault(topic, 'org')).toBeNull()
    expect(topicFault(topic, 'site')).toBeNull()
  }
})

test('sites have topics of their own', () => {
  expect(topicFault('zone', 'site')).toBeNull()
  expect(topicFault('zone', 'org')).toMatch(/site webhooks only/)
  for (const topic of ['', 'AUDITS', 'constructor', 'ping'])
    expect(topicFault(topic, 'site')).toMatch(/not a known topic/)
})

test('the list agrees with what is accepted', () => {
  for (const { key, forOrg } of webhookTopics) {
    expect(topicFault(key, 'site')).toBeNull()
    expect(topicFault(key, 'org') === null).toBe(forOrg)
  }
  expect(webhookTopics.find(({ key }) => key === 'audits')).toMatchObject({ hasDeliveryResults: true })
  expect(webhookTopics.find(({ key }) => key === 'zone')).toMatchObject({ hasDeliveryResults: false })
})
