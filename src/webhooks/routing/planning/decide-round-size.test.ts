import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decideRoundSize } from './decide-round-size.ts'

const next = (events: number, tookMs: number, isAwaited = true) =>
  decideRoundSize({ events, tookMs, searchMs: 0, isAwaited })

it('makes a round shorter after one that took too long for those who waited, and longer after a short one', () => {
  expect(next(1000, 32)).toBe(250)
  expect(next(250, 4)).toBe(500)
  expect(next(250, 8)).toBe(250)
  expect(next(250, 80)).toBe(100)
})

it('makes a round no shorter than the search before it', () => {
  expect(decideRoundSize({ events: 400, tookMs: 80, searchMs: 120, isAwaited: true })).toBe(600)
})

it('makes rounds longer step by step while nothing waits for their end', () => {
  const sizes = [next(100, 80, false)]
  while (sizes.length < 13) sizes.push(next(sizes.at(-1) ?? 0, 80, false))
  expect([sizes[0], sizes.at(-1)]).toEqual([120, 1000])
})

it('stays within its bounds, whatever a round took', () => {
  const round = fc.record({
    events: fc.integer({ min: 100, max: 1000 }),
    tookMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    searchMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    isAwaited: fc.boolean(),
  })
  fc.assert(
    fc.property(round, (past) => {
      const events = decideRoundSize(past)
      expect(Number.isInteger(events) && events >= 100 && events <= 1000).toBe(true)
    }),
  )
})

it('finds the size that fits the machine within three rounds', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 0.075, noNaN: true }), (msPerEvent) => {
      let events = 1000
      for (let round = 0; round < 3; round += 1) events = next(events, events * msPerEvent)
      expect(events * msPerEvent).toBeGreaterThan(7.2)
      expect(events * msPerEvent).toBeLessThan(8.8)
    }),
  )
})
