import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type RateLimit, decideStart, firstPace, messagesWithin, pausedUntil } from './decide-pace.ts'

const limit: fc.Arbitrary<RateLimit> = fc.record({
  messages: fc.integer({ min: 1, max: 500 }),
  periodMs: fc.constantFrom(1000, 60_000),
})
const START_MS = 1_700_000_000_000

/** Starts as many messages as it may at each of these times; returns the times of the starts. */
function startsAt(rate: RateLimit, timesMs: readonly number[]): number[] {
  let pace = firstPace(null)
  const starts: number[] = []
  for (const ms of timesMs)
    for (
      let next = decideStart(rate, pace, new Date(ms));
      next !== null;
      next = decideStart(rate, pace, new Date(ms))
    ) {
      starts.push(ms)
      pace = next
    }
  return starts
}

it('starts at most the allowed messages in any time, and those that fit in a tenth of a second more', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 40 })
  fc.assert(
    fc.property(limit, pauses, (rate, gaps) => {
      let ms = START_MS
      const starts = startsAt(
        rate,
        gaps.map((gap) => (ms += gap)),
      )
      const perMs = rate.messages / rate.periodMs
      starts.forEach((to, last) => {
        const first = starts.findIndex((from) => from > to - rate.periodMs)
        expect(last - first + 1).toBeLessThanOrEqual((rate.periodMs + 100) * perMs + 2)
      })
    }),
  )
})

it('reaches the rate although it is asked in ticks of 50 ms', () => {
  fc.assert(
    fc.property(limit, (rate) => {
      const ticks = Array.from({ length: 61 }, (_, n) => START_MS + n * 50)
      const due = Math.floor((3000 * rate.messages) / rate.periodMs)
      expect(startsAt(rate, ticks).length).toBeGreaterThanOrEqual(due)
    }),
  )
})

it('says until when nothing may start', () => {
  const now = new Date(START_MS)
  const perSecond = { messages: 1, periodMs: 1000 }
  expect(pausedUntil(perSecond, firstPace(null), now)).toBeNull()
  expect(decideStart(perSecond, firstPace(new Date(START_MS + 1)), now)).toBeNull()
  const after = decideStart(perSecond, firstPace(now), now)
  expect(after && pausedUntil(perSecond, after, now)).toEqual(new Date(START_MS + 1000))
  expect(messagesWithin(perSecond, 3000)).toBe(4)
  expect(messagesWithin({ messages: 1, periodMs: 60_000 }, 3000)).toBe(1)
})

it('starts a message at once after the clock was set back by an hour, and the next one at its distance', () => {
  fc.assert(
    fc.property(limit, (rate) => {
      const before = decideStart(rate, firstPace(null), new Date(START_MS + 3600e3))
      const now = new Date(START_MS)
      if (before === null) throw new Error('The first message did not start')
      expect(pausedUntil(rate, before, now)).toBeNull()
      const after = decideStart(rate, before, now)
      expect(after).toEqual({ nextMs: START_MS + rate.periodMs / rate.messages })
      expect(after && decideStart(rate, after, now)).toBeNull()
    }),
  )
})
