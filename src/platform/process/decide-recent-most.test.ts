import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideRecentMost, noneRecently, recentMostOf } from './decide-recent-most.ts'

const SPAN_MS = 100

/** Adds a value each 10 ms, and returns the recent most after each. */
function decideAll(values: readonly number[]): number[] {
  let recent = noneRecently
  return values.map((value, index) => {
    recent = decideRecentMost(recent, { value, nowMs: 10 * index }, SPAN_MS)
    return recentMostOf(recent)
  })
}

const same = (value: number, count: number): number[] => Array.from({ length: count }, () => value)

describe('the recent most', () => {
  test('follows a number that rises, immediately', () => {
    expect(decideAll([1, 2, 3])).toEqual([1, 2, 3])
  })

  test('outlasts a fall of the number, and follows it in the end', () => {
    const after = decideAll([...same(7, 5), ...same(2, 30)]).slice(5)
    expect(after.slice(0, 10)).toEqual(same(7, 10))
    expect(after.at(-1)).toBe(2)
  })

  test('is that of no less than the last span, and of no more than the last two', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 60 }), (values) => {
        for (const [index, most] of decideAll(values).entries()) {
          const latest = (count: number): number => Math.max(...values.slice(Math.max(0, index + 1 - count), index + 1))
          expect(most).toBeGreaterThanOrEqual(latest(SPAN_MS / 10))
          expect(most).toBeLessThanOrEqual(latest((2 * SPAN_MS) / 10))
        }
      }),
    )
  })
})
