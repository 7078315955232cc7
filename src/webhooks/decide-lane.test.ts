import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BREAKER_FAILURES, FIRST_WIDTH, type LaneHealth, decideHealth, decideWidth } from './decide-lane.ts'

const now = new Date('2026-11-20T12:00:00Z')
const healthy: LaneHealth = { failures: 0, openUntil: null }

function after(outcomes: readonly boolean[]): LaneHealth {
  return outcomes.reduce((health, succeeded) => decideHealth(health, succeeded, now), healthy)
}

describe('decideHealth', () => {
  it('opens after five failures, for longer each time, up to five minutes', () => {
    expect(after([false, false, false, false])).toEqual({ failures: 4, openUntil: null })
    const pauses = Array.from({ length: 9 }, (_, index) => {
      const { openUntil } = after(Array.from({ length: BREAKER_FAILURES + index }, () => false))
      return openUntil && (openUntil.getTime() - now.getTime()) / 1000
    })
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('is healthy again after one success, and open exactly when enough failures came last', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (outcomes) => {
        const health = after(outcomes)
        const last = outcomes.lastIndexOf(true)
        expect(health.failures).toBe(outcomes.length - 1 - last)
        expect(health.openUntil !== null).toBe(health.failures >= BREAKER_FAILURES)
        expect(after([...outcomes, true])).toEqual(healthy)
      }),
    )
  })
})

describe('decideWidth', () => {
  it('adds a request with each success, up to eight', () => {
    const widths = [FIRST_WIDTH]
    for (let ended = 0; ended < 9; ended += 1) widths.push(decideWidth(widths[ended] ?? 0, true))
    expect(widths).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8, 8])
  })

  it('decreases to one with failures, and never to none', () => {
    expect([8, 2, 1].map((width) => decideWidth(width, false))).toEqual([7, 1, 1])
  })
})
