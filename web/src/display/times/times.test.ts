import { expect, it } from 'vitest'
import { ago, clockTime, duration, nearTime, timeOfDay, zoneName } from './times.ts'

it.each([
  [0, 'now'],
  [30, '30 sec. ago'],
  [61, '1 min. ago'],
  [7300, '2 hr. ago'],
  [90_000, 'yesterday'],
  [-5, 'now'],
])('says what was %i seconds ago', (past, text) => {
  expect(ago(1000, 1000 + past)).toBe(text)
})

it.each([
  [0, '0 s'],
  [59.6, '1 min'],
  [3725, '1 h 2 min'],
  [90_061, '1 d 1 h'],
  [86_400, '1 d'],
  [86_405, '1 d'],
])('says how long %d seconds are', (seconds, text) => {
  expect(duration(seconds)).toBe(text)
})

it('shows a time in the zone of a site', () => {
  const nowMs = Date.UTC(2026, 11, 1)
  expect(clockTime(1_790_000_000, 'Asia/Tokyo', nowMs)).toBe('21 Sept, 23:13:20 GMT+9')
  expect(clockTime(1_790_000_000 - 366 * 86_400, 'Asia/Tokyo', nowMs)).toBe('20 Sept 2025, 23:13:20 GMT+9')
  expect(timeOfDay(1_790_000_000, 'Asia/Tokyo')).toBe('23:13 GMT+9')
  // The year begins earlier there than in UTC.
  const newYearMs = Date.UTC(2026, 11, 31, 17)
  expect(clockTime(Date.UTC(2026, 11, 31, 14) / 1000, 'Asia/Tokyo', newYearMs)).toBe('31 Dec 2026, 23:00:00 GMT+9')
  expect(clockTime(Date.UTC(2026, 11, 31, 16) / 1000, 'Asia/Tokyo', newYearMs)).toBe('01 Jan, 01:00:00 GMT+9')
})

it('names a zone as it is called at a time', () => {
  expect(zoneName(Date.UTC(2026, 0, 1) / 1000, 'America/New_York')).toBe('GMT−5')
  expect(zoneName(Date.UTC(2026, 6, 1) / 1000, 'America/New_York')).toBe('GMT−4')
})

it('shows the date of a time that is not near', () => {
  const at = Date.UTC(2026, 10, 27, 17) / 1000
  expect(nearTime(at, 'Asia/Tokyo', Date.UTC(2026, 10, 27, 6))).toBe('02:00 GMT+9')
  expect(nearTime(at, 'Asia/Tokyo', Date.UTC(2026, 10, 27, 4))).toBe('28 Nov, 02:00:00 GMT+9')
})
