import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFollowingClock, createServiceClock } from './service-clock.ts'

function create(baseMs = 0) {
  let nowMs = 1_000_000
  const monotonicMs = (): number => nowMs
  const clock = createServiceClock(baseMs, monotonicMs)
  return { clock, monotonicMs, pass: (ms: number) => void (nowMs += ms) }
}

test('stands still until the service listens, and continues from where it was', () => {
  const { clock, pass } = create(500)
  pass(60_000)
  expect(clock.nowMs()).toBe(500)
  clock.listen()
  pass(1000)
  expect(clock.nowMs()).toBe(1500)
  expect(clock.listeningSinceMs()).toBe(500)
})

test('does not count a suspension, after which devices have to come back', () => {
  const { clock, pass } = create()
  clock.listen()
  pass(1000)
  clock.nowMs()
  pass(3600_000)
  expect(clock.nowMs()).toBe(6000)
  expect(clock.listeningSinceMs()).toBe(6000)
})

test('a short stall of the process is not a suspension', () => {
  const { clock, pass } = create()
  clock.listen()
  pass(10_000)
  expect(clock.nowMs()).toBe(5000)
  expect(clock.listeningSinceMs()).toBe(0)
})

test('never goes back, and never counts more than has passed', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -10_000, max: 100_000 })), (steps) => {
      const { clock, pass } = create()
      clock.listen()
      let passedMs = 0
      let lastMs = 0
      for (const step of steps) {
        pass(step)
        passedMs += Math.max(0, step)
        const nowMs = clock.nowMs()
        expect(nowMs).toBeGreaterThanOrEqual(lastMs)
        expect(nowMs).toBeLessThanOrEqual(passedMs)
        lastMs = nowMs
      }
    }),
  )
})

test('another thread continues the time between two readings, and stands still with the clock', () => {
  const { clock, pass, monotonicMs } = create(500)
  const follower = createFollowingClock(clock.read(), monotonicMs)
  pass(60_000)
  expect(follower.nowMs()).toBe(500)
  clock.listen()
  follower.follow(clock.read())
  pass(1234)
  expect(follower.nowMs()).toBe(1734)
  pass(3600_000)
  expect(follower.nowMs()).toBe(5500)
  follower.follow(clock.read())
  expect(follower.nowMs()).toBe(5500)
  expect(follower.listeningSinceMs()).toBe(clock.listeningSinceMs())
})

test('another thread is never ahead of the clock, and never goes back', () => {
  const step = fc.record({ ms: fc.integer({ min: 0, max: 20_000 }), does: fc.constantFrom('look', 'read', 'follow') })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { clock, pass, monotonicMs } = create()
      const follower = createFollowingClock(clock.read(), monotonicMs)
      clock.listen()
      let reading = clock.read()
      let lastMs = 0
      for (const { ms, does } of steps) {
        pass(ms)
        if (does === 'read') reading = clock.read()
        if (does === 'follow') follower.follow(reading)
        const nowMs = follower.nowMs()
        expect(nowMs).toBeGreaterThanOrEqual(lastMs)
        if (does === 'look') expect(nowMs).toBeLessThanOrEqual(clock.nowMs())
        lastMs = nowMs
      }
    }),
  )
})
