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

it.each([
  ['America/New_York', '2026-12-01T02:00', '2026-12-01T07:00:00Z'],
  ['Asia/Kolkata', '2026-12-01T12:30', '2026-12-01T07:00:00Z'],
  // The first of two equal times, and one that the clock skips.
  ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30:00Z'],
  ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:30:00Z'],
  ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45:00Z'],
  ['UTC', '0002-01-01T03:00', '0002-01-01T03:00:00Z'],
])('reads in the zone %s of a site the time %s, wherever the viewer is', (zone, reading, instant) => {
  for (const viewer of ['Europe/Berlin', 'Pacific/Auckland']) {
    vi.stubEnv('TZ', viewer)
    expect(instantOf(reading, zone)).toBe(instant)
  }
  if (reading !== '2026-03-08T02:30') expect(readingAt(instant, zone)).toBe(reading)
})

it('reads a time around a change of the clocks as a program does for the viewer', () => {
  for (const zone of ['America/New_York', 'Australia/Lord_Howe', 'Europe/Dublin']) {
    vi.stubEnv('TZ', zone)
    for (const sunday of ['03-08', '03-29', '04-05', '10-04', '10-25', '11-01'])
      for (let half = 0; half < 12; half += 1) {
        const local = `2026-${sunday}T0${Math.floor(half / 2)}:${half % 2 === 0 ? '00' : '30'}`
        expect(instantOf(local, zone)).toBe(instantOf(local))
      }
  }
})

it('keeps the instant of a time with a zone', () => {
  vi.stubEnv('TZ', 'America/New_York')
  expect(instantOf('2026-12-01T07:00:00Z')).toBe('2026-12-01T07:00:00Z')
  expect(instantOf('2026-12-01T08:00:00+01:00')).toBe('2026-12-01T07:00:00Z')
})

it('leaves what is no time, and shows nothing of it', () => {
  for (const text of ['', 'soon', '5', '2026-13-41T99:00']) {
    expect(instantOf(text)).toBe(text)
    expect(instantOf(text, 'Asia/Tokyo')).toBe(text)
    if (text !== '5') for (const zone of [undefined, 'Asia/Tokyo']) expect(readingAt(text, zone)).toBe('')
  }
})
