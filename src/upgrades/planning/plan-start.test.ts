import { IANAZone } from 'luxon'
import { describe, expect, test } from 'vitest'
import { findZone, parseStartTime, resolveStartTime } from './plan-start.ts'

function resolve(text: string, zone: string): string {
  const time = parseStartTime(text)
  if (time === null) throw new Error(`unreadable: ${text}`)
  return resolveStartTime(time, IANAZone.create(zone)).toISOString()
}

describe('local time', () => {
  test.each([
    ['New York, skipped', '2026-03-08T02:30', 'America/New_York', '2026-03-08T07:30:00.000Z'],
    ['New York, twice', '2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
    ['New York, later that day', '2026-03-08T15:00', 'America/New_York', '2026-03-08T19:00:00.000Z'],
    ['New York, the evening before', '2026-03-07T20:00', 'America/New_York', '2026-03-08T01:00:00.000Z'],
    ['Berlin, skipped', '2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['Berlin, twice', '2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['Lord Howe, where it is half an hour', '2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z'],
    ['an ordinary day', '2026-06-13 15:00:00', 'Asia/Tokyo', '2026-06-13T06:00:00.000Z'],
    ['a date is its midnight', '2026-06-13', 'Asia/Tokyo', '2026-06-12T15:00:00.000Z'],
  ])('%s', (_, text, zone, instant) => {
    expect(resolve(text, zone)).toBe(instant)
  })
})

test.each([
  '2026-06-13 15:00:00-07:00',
  '2026-06-13T22:00:00Z',
  '2026-06-13T15:00:00 -07:00',
  '2026-06-14T00:00:00+02',
])('an instant is the same everywhere: %s', (text) => {
  expect(resolve(text, 'Asia/Tokyo')).toBe('2026-06-13T22:00:00.000Z')
  expect(resolve(text, 'America/New_York')).toBe('2026-06-13T22:00:00.000Z')
})

test.each([
  '',
  'soon',
  '13.06.2026',
  '2026-13-01T00:00',
  '2026-06-13T25:00',
  '24:00',
  '2027-01-01T10:00:00[Europe/Berlin]',
  '9999-12-31T23:59:59-12:00',
  '2027-01-01T10:00:00-99:00',
  '2027-01-01T10:00:00+24',
  '2027-01-01T10:00:00+0260',
  '+275760-09-13T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '0000-12-31T00:00:00Z',
])('no time: %s', (text) => {
  expect(parseStartTime(text)).toBeNull()
})

test('an unknown zone is none', () => {
  expect(findZone('Middle/Earth')).toBeNull()
  expect(findZone('Europe/Berlin')?.name).toBe('Europe/Berlin')
})
