import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decideRoundSize } from './decide-round-size.ts'

it('makes a round shorter after one that took too long, and longer after a short one', () => {
  expect(decideRoundSize(1000, 80)).toBe(250)
  expect(decideRoundSize(250, 10)).toBe(500)
  expect(decideRoundSize(250, 20)).toBe(250)
})

it('stays within its bounds, whatever a round took', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 1000 }), fc.double({ min: 0, max: 1e6, noNaN: true }), (events, tookMs) => {
      const next = decideRoundSize(events, tookMs)
      expect(Number.isInteger(next) && next >= 100 && next <= 1000).toBe(true)
    }),
  )
})

it('finds the size that fits the machine within three rounds', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.03, max: 0.19, noNaN: true }), (msPerEvent) => {
      let events = 1000
      for (let round = 0; round < 3; round += 1) events = decideRoundSize(events, events * msPerEvent)
      expect(events * msPerEvent).toBeGreaterThan(18)
      expect(events * msPerEvent).toBeLessThan(22)
    }),
  )
})
