import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Attempted, MAX_ATTEMPTS, decideRetry } from './decide-retry.ts'

const at = new Date('2026-11-20T12:00:00Z')
const attempted = (some: Partial<Attempted>): Attempted => ({
  attempt: 1,
  topic: 'audits',
  status: 500,
  retryAfter: null,
  at,
  ...some,
})
const afterMs = (some: Partial<Attempted>, random = 0.5): number => {
  const verdict = decideRetry(attempted(some), random)
  return verdict.kind === 'retry' ? verdict.afterMs : Number.NaN
}
const HOUR = 3600e3

describe('decideRetry', () => {
  it('follows the schedule', () => {
    const pauses = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => afterMs({ attempt: index + 1 }) / 1000)
    expect(pauses).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400])
    expect(decideRetry(attempted({ attempt: MAX_ATTEMPTS }), 0.5)).toEqual({ kind: 'give_up' })
  })

  it('varies pauses by a fifth', () => {
    expect(afterMs({}, 0)).toBe(4000)
    expect(afterMs({}, 1)).toBe(6000)
  })

  it('treats only 2xx as delivered', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.integer({ min: 1, max: 20 }), (status, attempt) => {
        const { kind } = decideRetry(attempted({ status, attempt }), 0.5)
        expect(kind === 'delivered').toBe(status >= 200 && status <= 299)
        expect(kind === 'gone').toBe(status === 410)
      }),
    )
  })

  it('attempts a ping once', () => {
    for (const status of [null, 302, 410, 429, 500])
      expect(decideRetry(attempted({ topic: 'ping', status }), 0.5)).toEqual({ kind: 'give_up' })
    expect(decideRetry(attempted({ topic: 'ping', status: 200 }), 0.5)).toEqual({ kind: 'delivered' })
  })

  it.each([
    ['120', 120e3],
    [' 120 ', 120e3],
    ['Fri, 20 Nov 2026 12:10:00 GMT', 600e3],
    ['999999999999999999999', 24 * HOUR],
    ['Fri, 20 Nov 2037 12:10:00 GMT', 24 * HOUR],
    ['0', 5000],
    ['1', 5000],
    ['-5', 5000],
    ['1.5', 5000],
    ['soon', 5000],
    ['Mon, 1', 5000],
    ['Fri, 20 Nov 2020 12:10:00 GMT', 5000],
    ['', 5000],
  ])('waits after Retry-After %j for %d ms', (retryAfter, expected) => {
    expect(afterMs({ status: 429, retryAfter })).toBe(expected)
    expect(afterMs({ status: 503, retryAfter })).toBe(expected)
    expect(afterMs({ status: 500, retryAfter })).toBe(5000)
  })

  it('ends after a limited number of attempts and a limited time, whatever the answers', () => {
    const answer = fc.record({
      status: fc.option(fc.integer({ min: 300, max: 599 })),
      retryAfter: fc.option(fc.string()),
    })
    fc.assert(
      fc.property(
        fc.array(answer, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (answers, random) => {
          for (const [index, one] of answers.entries()) {
            const verdict = decideRetry(attempted({ ...one, attempt: index + 1 }), random)
            if (verdict.kind === 'retry') {
              expect(index + 1).toBeLessThan(MAX_ATTEMPTS)
              expect(verdict.afterMs).toBeGreaterThanOrEqual(4000)
              expect(verdict.afterMs).toBeLessThanOrEqual(24 * HOUR * 1.2)
            }
          }
        },
      ),
    )
  })
})
