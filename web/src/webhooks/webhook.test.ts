import { expect, it } from 'vitest'
import {
  type Health,
  type Webhook,
  healthWordsOf,
  messagesPath,
  noDeliveryText,
  parseWebhooksSearch,
  pendingText,
  rateLimitText,
  latestAttempts,
  resultText,
  successText,
} from './webhook.ts'

it('says of a number of waiting messages that is not exact that it is not', () => {
  expect(pendingText({ pending: 1001, pending_exact: true })).toBe('1,001')
  expect(pendingText({ pending: 1001, pending_exact: false })).toBe('about 1,001')
})

it('distinguishes failures from pauses, and what the service has disabled from what an administrator has', () => {
  const wordsOf = (health: Partial<Health>, failures = 0) =>
    healthWordsOf({ state: 'healthy', breaker: { open: false, failures }, ...health })
  expect(wordsOf({ state: 'paused' })).toEqual({ tone: 'warn', text: 'Paused' })
  expect(wordsOf({ state: 'paused' }, 8)).toEqual({ tone: 'bad', text: 'Failing' })
  expect(wordsOf({ state: 'disabled', disabled_reason: 'gone' }, 1)).toEqual({ tone: 'bad', text: 'Disabled' })
  expect(wordsOf({ state: 'disabled', disabled_reason: 'request' }, 1)).toEqual({ tone: 'idle', text: 'Disabled' })
  expect(wordsOf({ state: 'disabled' })).toEqual({ tone: 'idle', text: 'Disabled' })
})

it('says how many attempts succeeded, and all of them only if no one failed', () => {
  const texts = [undefined, 0, 0.5, 0.9999, 1].map((rate) =>
    successText({ attempts: 1000, ...(rate !== undefined && { success_rate: rate }) }),
  )
  expect(texts).toEqual([
    '1,000',
    '1,000, none successful',
    '1,000, 50.0 % successful',
    '1,000, 99.9 % successful',
    '1,000, all successful',
  ])
})

it('names the rate limit, if there is one', () => {
  const textOf = (limit: unknown) => rateLimitText({ rate_limit: limit } as unknown as Webhook)
  expect(textOf({ messages: 1, per: 'second' })).toBe('1 message per second')
  expect(textOf({ messages: 2000, per: 'minute' })).toBe('2,000 messages per minute')
  expect([textOf(null), rateLimitText({} as Webhook)]).toEqual(['', ''])
})

it('names the result of a delivery, also of a message that was fetched', () => {
  expect(resultText({ status: 'failure', status_code: 503 })).toBe('503')
  expect(resultText({ status: 'failure' })).toBe('No answer')
  expect(resultText({ status: 'success' })).toBe('Fetched')
})

it('finds the latest attempt of each message', () => {
  const attempts = [
    { id: '4', message_id: 'a' },
    { id: '3', message_id: 'b' },
    { id: '2' },
    { id: '1', message_id: 'a' },
  ]
  expect([...latestAttempts(attempts)].toSorted()).toEqual(['2', '3', '4'])
})

it('keeps of an address of the list what filters it', () => {
  expect(parseWebhooksSearch({ site: 's', failing: true, page: 2 })).toEqual({ site: 's', failing: true })
  expect(parseWebhooksSearch({ site: '', failing: 'true', name: '' })).toEqual({})
  expect(parseWebhooksSearch({ name: 24 })).toEqual({ name: '24' })
})

it('says for a receiver that fetches where, and when its deliveries appear', () => {
  const webhook = { id: 'w', org_id: 'o', type: 'pull', for_site: false } as Webhook
  expect(messagesPath(webhook)).toBe('/api/v1/orgs/o/webhooks/w/messages')
  expect(messagesPath({ ...webhook, for_site: true, site_id: 's' })).toBe('/api/v1/sites/s/webhooks/w/messages')
  expect(noDeliveryText(webhook)).toBe('Messages appear here once its receiver has fetched and acknowledged them.')
  const filtered = noDeliveryText({ ...webhook, type: 'http-post', filter: '$.events[*]' })
  expect(filtered).toContain('A test message appears here within seconds; others when something happens. Events that')
})
