import { expect, it } from 'vitest'
import { createRunningClock } from './running-clock.ts'

it('counts a second of a longer gap, and all of shorter ones', () => {
  let monotonicMs = 5000
  const nowMs = createRunningClock(() => monotonicMs)
  const afterMs = (ms: number): number => {
    monotonicMs += ms
    return nowMs()
  }
  expect(afterMs(0)).toBe(0)
  expect(afterMs(999)).toBe(999)
  expect(afterMs(17_000)).toBe(1999)
  expect(afterMs(-3000)).toBe(1999)
  expect(afterMs(10)).toBe(2009)
})
