import type { Clock } from '../../src/platform/time/clock.ts'

/** A clock that only moves when a test moves it. */
export interface TestClock extends Clock {
  advance(ms: number): void
}

export function createTestClock(start = new Date('2026-03-01T12:00:00Z')): TestClock {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    advance(ms) {
      now += ms
    },
  }
}

/** The real clock, set forward by what a test wants: peers with clocks of their own check the times. */
export function createOffsetClock(): Clock & { offsetMs: number } {
  const clock = { offsetMs: 0, now: () => new Date(Date.now() + clock.offsetMs) }
  return clock
}
