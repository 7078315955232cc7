import { expect, it } from 'vitest'
import { addMs } from '../../../platform/time/clock.ts'
import { createLanePace } from './lane-pace.ts'

const start = new Date('2026-11-20T12:00:00Z')

it('never pauses without a limit', () => {
  const pace = createLanePace({ now: () => start }, { limit: null, from: addMs(start, 1000) })
  pace.start()
  expect([pace.isLimited, pace.pausedUntil(), pace.messagesWithin(1)]).toEqual([false, null, Infinity])
})

it('pauses until the lane was to begin, and after each start by the distance of two messages', () => {
  let now = start
  const limit = { messages: 2, periodMs: 1000 }
  const pace = createLanePace({ now: () => now }, { limit, from: addMs(start, 300) })
  expect([pace.isLimited, pace.pausedUntil()]).toEqual([true, addMs(start, 300)])
  now = addMs(start, 300)
  expect(pace.pausedUntil()).toBeNull()
  pace.start()
  expect(pace.pausedUntil()).toEqual(addMs(start, 800))
  now = addMs(start, 800)
  expect(pace.pausedUntil()).toBeNull()
  expect(pace.messagesWithin(3000)).toBe(7)
  now = addMs(start, 1300)
  expect([pace.pausedUntil(), pace.nextAt()]).toEqual([null, addMs(start, 800)])
})
