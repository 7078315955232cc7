import type { ServiceClock } from '../../src/platform/time/service-clock.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

/** Wall clock and service time of a service that runs, is down, and runs again. */
export interface Times {
  readonly wall: TestClock
  readonly service: ServiceClock
  /** Both go on. */
  pass(ms: number): void
  /** The service is down: only the wall clock goes on. */
  outage(ms: number): void
}

export function createTimes(): Times {
  const wall = createTestClock()
  let nowMs = 3_600_000
  let sinceMs = 0
  return {
    wall,
    service: { nowMs: () => nowMs, listeningSinceMs: () => sinceMs },
    pass(ms) {
      wall.advance(ms)
      nowMs += ms
    },
    outage(ms) {
      wall.advance(ms)
      sinceMs = nowMs
    },
  }
}
