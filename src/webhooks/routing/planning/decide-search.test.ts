import { UUID } from 'uuidv7'
import { expect, it } from 'vitest'
import { decideFloor, isSearchDue } from './decide-search.ts'

const now = new Date('2026-03-01T12:00:00Z')
const resting = { mustSearch: false, searchAt: null, nextSearchMs: 5000, known: 0, eventsPerRound: 1000 }

it('searches at once for events that are not known, and for a queue that is ripe', () => {
  expect(isSearchDue(resting, now, 0)).toBe(false)
  expect(isSearchDue({ ...resting, mustSearch: true }, now, 0)).toBe(true)
  expect(isSearchDue({ ...resting, searchAt: now }, now, 0)).toBe(true)
  expect(isSearchDue({ ...resting, searchAt: new Date(now.getTime() + 1) }, now, 0)).toBe(false)
})

it('searches by time, at most ten seconds later if more events are known than a round takes', () => {
  expect([4999, 5000].map((nowMs) => isSearchDue(resting, now, nowMs))).toEqual([false, true])
  expect(isSearchDue({ ...resting, known: 999 }, now, 5000)).toBe(true)
  const busy = { ...resting, known: 1000 }
  expect([5000, 14_999, 15_000].map((nowMs) => isSearchDue(busy, now, nowMs))).toEqual([false, false, true])
})

it('begins the next search with the first event found, and with none a little before the last search', () => {
  const beganMs = Date.UTC(2026, 2, 1, 12)
  const idOf = (ms: number): string => UUID.fromFieldsV7(ms, 1, 1, 1).toString()
  const floor = decideFloor(beganMs, null)
  expect(idOf(beganMs - 5001) < floor).toBe(true)
  expect(idOf(beganMs - 5000) >= floor).toBe(true)
  expect(decideFloor(beganMs, idOf(beganMs - 60_000))).toBe(idOf(beganMs - 60_000))
  // Events with lower ids may be committed later.
  expect(decideFloor(beganMs, idOf(beganMs - 1000))).toBe(floor)
})
