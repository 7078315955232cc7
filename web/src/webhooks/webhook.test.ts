import { expect, it } from 'vitest'
import { type Webhook, pendingText, rateLimitText, resultText } from './webhook.ts'

it('says of a number of waiting messages that is not exact that it is not', () => {
  expect(pendingText({ pending: 1001, pending_exact: true })).toBe('1,001')
  expect(pendingText({ pending: 1001, pending_exact: false })).toBe('about 1,001')
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
