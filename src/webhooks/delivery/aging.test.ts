import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createTestLog } from '../../../test/support/servers/test-log.ts'
import { type Left, createAging } from './aging.ts'

let left: Left
let looks: number
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate'] })
  left = 'busy'
  looks = 0
})
afterEach(() => vi.useRealTimers())

function start(minIdleMs: number) {
  const age = (): Left => {
    looks += 1
    return left
  }
  const aging = createAging({ log: createTestLog() }, { nowMs: () => 0, lateMs: 250, minIdleMs, age })
  aging.start()
  return aging
}

/** The times from one look to the next; a fake immediate takes a millisecond of each. */
const [OFTEN_MS, RARELY_MS] = [51, 251]

/** Returns how often lanes were looked at. */
function looksWithin(ms: number): number {
  const before = looks
  vi.advanceTimersByTime(ms)
  return looks - before
}

it('looks often while messages are in flight, and four times per second while all lanes are idle', () => {
  start(1000)
  expect(looksWithin(10 * OFTEN_MS)).toBe(10)
  left = 'calm'
  looksWithin(OFTEN_MS)
  expect(looksWithin(8 * RARELY_MS)).toBe(8)
  left = 'busy'
  looksWithin(RARELY_MS)
  expect(looksWithin(10 * OFTEN_MS)).toBe(10)
})

it('looks soon at a lane that is added to idle ones, and by one timer', () => {
  left = 'calm'
  const aging = start(1000)
  looksWithin(2 * OFTEN_MS)
  left = 'busy'
  aging.start()
  aging.start()
  expect([vi.getTimerCount(), looksWithin(OFTEN_MS)]).toEqual([1, 1])
  left = 'calm'
  looksWithin(OFTEN_MS)
  // Between the end of the timer and its look.
  looksWithin(RARELY_MS - 1)
  aging.start()
  looksWithin(1)
  expect([vi.getTimerCount(), looksWithin(4 * RARELY_MS)]).toEqual([1, 4])
})

it('looks often where idle lanes are released at once, and not at all without lanes', () => {
  left = 'calm'
  const aging = start(0)
  expect(looksWithin(10 * OFTEN_MS)).toBe(10)
  left = 'nothing'
  looksWithin(OFTEN_MS)
  expect([vi.getTimerCount(), looksWithin(1000)]).toEqual([0, 0])
  aging.start()
  aging.stop()
  expect([vi.getTimerCount(), looksWithin(1000)]).toEqual([0, 0])
})
