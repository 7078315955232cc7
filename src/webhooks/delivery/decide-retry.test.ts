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
const pause = (afterMs: number) => ({ kind: 'pause', afterMs })
const retryIn5s = { kind: 'retry', afterMs: 5000 }
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
    for (let status = 100; status < 600; status += 1)
      for (const attempt of [1, MAX_ATTEMPTS]) {
        const { kind } = decideRetry(attempted({ status, attempt }), 0.5)
        expect(kind === 'delivered', `${status}`).toBe(status >= 200 && status <= 299)
        expect(kind === 'gone', `${status}`).toBe(status === 410)
      }
  })

  it('attempts a ping once', () => {
    for (const status of [null, 302, 410, 429, 500])
      expect(decideRetry(attempted({ topic: 'ping', status }), 0.5)).toEqual({ kind: 'give_up' })
    expect(decideRetry(attempted({ topic: 'ping', status: 200 }), 0.5)).toEqual({ kind: 'delivered' })
  })

  it.each([
    ['120', pause(120e3)],
    [' 120 ', pause(120e3)],
    ['1', pause(1000)],
    ['Fri, 20 Nov 2026 12:10:00 GMT', pause(600e3)],
    ['Friday, 20-Nov-26 12:10:00 GMT', pause(600e3)],
    ['Fri Nov 20 12:10:00 2026', pause(600e3)],
    ['Tue Dec  1 12:10:00 2026', pause(24 * HOUR)],
    ['999999999999999999999', pause(24 * HOUR)],
    ['Fri, 20 Nov 2037 12:10:00 GMT', pause(24 * HOUR)],
    ['0', retryIn5s],
    ['-5', retryIn5s],
    ['1.5', retryIn5s],
    ['soon', retryIn5s],
    ['Mon, 1', retryIn5s],
    ['Fri Nov 20 12:10:00', retryIn5s],
    ['Fri Foo 20 12:10:00 2026', retryIn5s],
    ['Fri, 20 Nov 2020 12:10:00 GMT', retryIn5s],
    ['', retryIn5s],
  ])('decides by Retry-After %j: %j', (retryAfter, expected) => {
    expect(decideRetry(attempted({ status: 429, retryAfter }), 0.5)).toEqual(expected)
    expect(decideRetry(attempted({ status: 503, retryAfter }), 0.5)).toEqual(expected)
    expect(decideRetry(attempted({ status: 500, retryAfter }), 0.5)).toEqual(retryIn5s)
  })

  it('pauses for a second at least', () => {
    const retryAfter = 'Fri, 20 Nov 2026 12:10:00 GMT'
    const almost = new Date('2026-11-20T12:09:59.900Z')
    expect(decideRetry(attempted({ status: 429, retryAfter, at: almost }), 0.5)).toEqual(pause(1000))
  })

  it('pauses as requested whatever the attempt, instead of giving up', () => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS + 1; attempt += 1)
      expect(decideRetry(attempted({ attempt, status: 429, retryAfter: '20' }), 0.5)).toEqual(pause(20_000))
  })

  it('ends after a limited number of attempts that count, with pauses of a limited time, whatever the answers', () => {
    const answer = fc.record({
      status: fc.option(fc.oneof(fc.constantFrom(429, 503), fc.integer({ min: 300, max: 599 }))),
      retryAfter: fc.option(fc.oneof(fc.string(), fc.nat({ max: 200_000 }).map(String))),
    })
    fc.assert(
      fc.property(
        fc.array(answer, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (answers, random) => {
          let attempt = 1
          for (const one of answers) {
            const verdict = decideRetry(attempted({ ...one, attempt }), random)
            if (verdict.kind === 'pause') {
              expect(verdict.afterMs).toBeGreaterThanOrEqual(1000)
              expect(verdict.afterMs).toBeLessThanOrEqual(24 * HOUR)
            } else {
              expect(verdict.kind).toBe(one.status === 410 ? 'gone' : attempt < MAX_ATTEMPTS ? 'retry' : 'give_up')
              if (verdict.kind !== 'retry') return
              expect(verdict.afterMs).toBeGreaterThanOrEqual(4000)
              expect(verdict.afterMs).toBeLessThanOrEqual(24 * HOUR * 1.2)
              attempt += 1
            }
          }
        },
      ),
    )
  })
})
