import { expect, it } from 'vitest'
import { TransportError, defaultRetries, isPassingStatus, pauseBeforeRetry, retryAfterMsOf } from './transport.ts'

const broken = new TransportError('the connection broke')

it('doubles the pauses up to the longest one, and gives up after the last attempt', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7].map((failures) => pauseBeforeRetry(broken, failures, defaultRetries))
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000])
  expect(() => pauseBeforeRetry(broken, 8, defaultRetries)).toThrow(broken)
})

it('waits as long as the server requests, and at most two minutes', () => {
  const pauseOf = (after: string) =>
    pauseBeforeRetry(new TransportError('busy', retryAfterMsOf({ 'retry-after': after })), 1, defaultRetries)
  expect(pauseOf('30')).toBe(30_000)
  expect(pauseOf('86400')).toBe(120_000)
  expect(pauseOf('Mon, 30 Nov 2026 00:00:00 GMT')).toBe(1000)
})

it('repeats nothing that fails for another reason', () => {
  const refused = new Error('The server answered 400')
  expect(() => pauseBeforeRetry(refused, 1, defaultRetries)).toThrow(refused)
  expect([400, 403, 404, 413].filter(isPassingStatus)).toEqual([])
  expect([408, 425, 429, 500, 502, 503, 504].every(isPassingStatus)).toBe(true)
})
