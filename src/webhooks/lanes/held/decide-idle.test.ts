import { expect, it } from 'vitest'
import { MIN_IDLE_MS, decideIdleMs } from './decide-idle.ts'

const lane = { usedMs: 0, accepts: true, hasFailedMessage: false, lanes: 500, minIdleMs: MIN_IDLE_MS }

it('holds an idle lane for as long as it was used, from one to ten seconds', () => {
  const idleMs = [0, 400, 1000, 3500, 10_000, 3600e3].map((usedMs) => decideIdleMs({ ...lane, usedMs }))
  expect(idleMs).toEqual([1000, 1000, 1000, 3500, 10_000, 10_000])
})

it('holds a lane for a second if its messages must be routed or many lanes are held, and for less if a message will be tried again', () => {
  expect(decideIdleMs({ ...lane, usedMs: 20_000, accepts: false })).toBe(1000)
  expect(decideIdleMs({ ...lane, usedMs: 20_000, lanes: 501 })).toBe(1000)
  expect(decideIdleMs({ ...lane, usedMs: 20_000, hasFailedMessage: true })).toBe(500)
})

it('releases an unused lane at once if the least time is zero', () => {
  expect(decideIdleMs({ ...lane, minIdleMs: 0 })).toBe(0)
  expect(decideIdleMs({ ...lane, minIdleMs: 0, hasFailedMessage: true })).toBe(0)
  expect(decideIdleMs({ ...lane, minIdleMs: 0, usedMs: 3500 })).toBe(3500)
})
