import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BREAKER_FAILURES, FIRST_WIDTH, type LaneHealth, decideHealth, decideWidth } from './decide-lane.ts'

const now = new Date('2026-11-20T12:00:00Z')
const healthy: LaneHealth = { failures: 0, openUntil: null, failingSince: null }

const success = { succeeded: true, askedMs: 0 }
const failure = { ...success, succeeded: false }

function after(outcomes: readonly boolean[]): LaneHealth {
  return outcomes.reduce((health, succeeded) => decideHealth(health, succeeded ? success : failure, now), healthy)
}

const inSeconds = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)

describe('decideHealth', () => {
  it('opens after five failures, for longer each time, up to a minute', () => {
    expect(after([false, false, false, false])).toEqual({ failures: 4, openUntil: null, failingSince: now })
    const pauses = Array.from({ length: 7 }, (_, index) => {
      const { openUntil } = after(Array.from({ length: BREAKER_FAILURES + index }, () => false))
      return openUntil && (openUntil.getTime() - now.getTime()) / 1000
    })
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60])
  })

  it('is healthy again after one success, and open exactly when enough failures came last', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (outcomes) => {
        const health = after(outcomes)
        const last = outcomes.lastIndexOf(true)
        expect(health.failures).toBe(outcomes.length - 1 - last)
        expect(health.openUntil !== null).toBe(health.failures >= BREAKER_FAILURES)
        expect(health.failingSince).toEqual(health.failures > 0 ? now : null)
        expect(after([...outcomes, true])).toEqual(healthy)
      }),
    )
  })

  it('pauses as long as the receiver asks, and counts no failure for it', () => {
    const failingSince = inSeconds(-60)
    const asked = decideHealth({ failures: 2, openUntil: null, failingSince }, { ...failure, askedMs: 90_000 }, now)
    expect(asked).toEqual({ failures: 2, openUntil: inSeconds(90), failingSince })
    expect(decideHealth(asked, { ...failure, askedMs: 5000 }, now)).toEqual(asked)
    expect(decideHealth(asked, { ...failure, askedMs: 95_000 }, now)).toEqual({ ...asked, openUntil: inSeconds(95) })
    // A request that was in flight then.
    expect(decideHealth(asked, success, now)).toEqual({ ...healthy, openUntil: inSeconds(90) })
    expect(decideHealth(asked, failure, now)).toEqual({ failures: 3, openUntil: inSeconds(90), failingSince })
    expect(decideHealth({ ...asked, failures: 4 }, failure, now)).toEqual({
      failures: 5,
      openUntil: inSeconds(90),
      failingSince,
    })
    const later = inSeconds(90)
    expect(decideHealth(asked, success, later)).toEqual(healthy)
    expect(decideHealth(asked, failure, later)).toEqual({ failures: 3, openUntil: null, failingSince })
  })
})

describe('decideHealth, since when it fails', () => {
  it('is the time of the first failure after the last success, and a pause that was asked for changes nothing', () => {
    const first = decideHealth(healthy, failure, inSeconds(1))
    expect(first.failingSince).toEqual(inSeconds(1))
    expect(decideHealth(first, failure, inSeconds(2)).failingSince).toEqual(inSeconds(1))
    expect(decideHealth(first, { ...failure, askedMs: 5 }, inSeconds(3)).failingSince).toEqual(inSeconds(1))
    expect(decideHealth(healthy, { ...failure, askedMs: 5 }, inSeconds(3)).failingSince).toBeNull()
    expect(decideHealth(first, success, inSeconds(4)).failingSince).toBeNull()
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
