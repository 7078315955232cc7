import { afterEach, expect, it, vi } from 'vitest'
import { instantOf, readingAt } from './clock-reading.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

it.each([
  ['America/New_York', '2026-12-01T02:00', '2026-12-01T07:00:00Z'],
  ['Asia/Kolkata', '2026-12-01T12:30', '2026-12-01T07:00:00Z'],
  ['UTC', '2026-12-01T07:00', '2026-12-01T07:00:00Z'],
])('reads and shows in %s the time %s of the clock', (zone, reading, instant) => {
  vi.stubEnv('TZ', zone)
  expect(instantOf(reading)).toBe(instant)
  expect(readingAt(instant)).toBe(reading)
})

it('keeps the instant of a time with a zone', () => {
  vi.stubEnv('TZ', 'America/New_York')
  expect(instantOf('2026-12-01T07:00:00Z')).toBe('2026-12-01T07:00:00Z')
  expect(instantOf('2026-12-01T08:00:00+01:00')).toBe('2026-12-01T07:00:00Z')
})

it('leaves what is no time, and shows nothing of it', () => {
  for (const text of ['', 'soon', '5', '2026-13-41T99:00']) {
    expect(instantOf(text)).toBe(text)
    if (text !== '5') expect(readingAt(text)).toBe('')
  }
})
