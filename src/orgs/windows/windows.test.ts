import fc from 'fast-check'
import { DateTime } from 'luxon'
import { describe, expect, test } from 'vitest'
import {
  type MaintenanceWindow,
  describeWindows,
  findClosing,
  findNextTime,
  findOpening,
  longestMs,
  minutesOf,
  weekdays,
} from './windows.ts'

const MINUTE_MS = 60_000

function open(windows: readonly MaintenanceWindow[], zone: string, from: string, needMinutes = 0): string | null {
  const fromMs = Date.parse(from)
  const foundMs = findOpening(windows, zone, { fromMs, needMs: needMinutes * MINUTE_MS })
  return foundMs === null ? null : new Date(foundMs).toISOString()
}

const night: MaintenanceWindow = { days: ['sat'], start: '22:00', end: '04:00' }

describe('findNextTime', () => {
  const next = (daily: Parameters<typeof findNextTime>[0], zone: string, after: string) =>
    new Date(findNextTime(daily, zone, Date.parse(after))).toISOString()

  test.each([
    // 2026-06-13 is a Saturday. Berlin is two hours ahead of UTC.
    ['later on the day', undefined, '2026-06-13T10:00:00Z', '2026-06-13T12:30:00.000Z'],
    ['not at the instant itself', undefined, '2026-06-13T12:30:00Z', '2026-06-14T12:30:00.000Z'],
    ['on the next of its days', ['wed', 'fri'], '2026-06-13T10:00:00Z', '2026-06-17T12:30:00.000Z'],
    ['a week later', ['sat'], '2026-06-13T12:30:00Z', '2026-06-20T12:30:00.000Z'],
    ['on the day of the site', ['sun'], '2026-06-13T22:30:00Z', '2026-06-14T12:30:00.000Z'],
  ] as const)('is %s', (_, days, after, expected) => {
    expect(next({ days: days && [...days], time: '14:30' }, 'Europe/Berlin', after)).toBe(expected)
  })

  test.each([
    [
      'that clocks are set forward over is the moment of that change',
      '02:30',
      '2026-03-08T07:00:00.000Z',
      '2026-03-09T06:30:00.000Z',
    ],
    ['at which clocks are set forward is that moment', '02:00', '2026-03-08T07:00:00.000Z', '2026-03-09T06:00:00.000Z'],
  ])('a time %s', (_, time, first, second) => {
    expect(next({ time }, 'America/New_York', '2026-03-08T05:00:00Z')).toBe(first)
    expect(next({ time }, 'America/New_York', first)).toBe(second)
  })

  test('a time that clocks show twice is the first one, and once', () => {
    expect(next({ time: '01:30' }, 'America/New_York', '2026-11-01T04:00:00Z')).toBe('2026-11-01T05:30:00.000Z')
    expect(next({ time: '01:30' }, 'America/New_York', '2026-11-01T05:30:00Z')).toBe('2026-11-02T06:30:00.000Z')
  })
})

describe('findOpening', () => {
  test.each([
    // 2026-06-13 is a Saturday. Berlin is two hours ahead of UTC.
    ['opens on its day', '2026-06-10T12:00:00Z', 0, '2026-06-13T20:00:00.000Z'],
    ['is open until the next day', '2026-06-14T01:59:59Z', 0, '2026-06-14T01:59:59.000Z'],
    ['is closed at its end', '2026-06-14T02:00:00Z', 0, '2026-06-20T20:00:00.000Z'],
    ['admits a device that just ends in it', '2026-06-14T01:30:00Z', 30, '2026-06-14T01:30:00.000Z'],
    ['lets a device that would not end in it wait', '2026-06-14T01:30:01Z', 30, '2026-06-20T20:00:00.000Z'],
    ['never admits a device that needs longer', '2026-06-14T01:30:00Z', 361, null],
  ])('a window %s', (_, from, need, expected) => {
    expect(open([night], 'Europe/Berlin', from, need)).toBe(expected)
  })

  test('windows that touch or overlap are one', () => {
    const split: MaintenanceWindow[] = [
      { start: '22:00', end: '24:00' },
      { start: '00:00', end: '02:00' },
      { start: '01:00', end: '03:00' },
    ]
    expect(open(split, 'UTC', '2026-06-13T22:30:00Z', 270)).toBe('2026-06-13T22:30:00.000Z')
    expect(open(split, 'UTC', '2026-06-13T22:31:00Z', 270)).toBe('2026-06-14T22:00:00.000Z')
    expect(longestMs(split)).toBe(300 * MINUTE_MS)
    expect(open([{ start: '00:00', end: '24:00' }], 'UTC', '2026-06-13T22:31:00Z', 3000)).toBe(
      '2026-06-13T22:31:00.000Z',
    )
  })

  test.each([
    // Clocks go from 02:00 to 03:00 at 07:00 UTC.
    {
      what: 'starts in a gap',
      zone: 'America/New_York',
      from: '2026-03-08T00:00:00Z',
      window: { start: '02:30', end: '04:00' },
      opens: '2026-03-08T07:00:00.000Z',
      minutes: 60,
    },
    {
      what: 'ends in a gap',
      zone: 'America/New_York',
      from: '2026-03-08T06:00:00Z',
      window: { start: '01:30', end: '02:30' },
      opens: '2026-03-08T06:30:00.000Z',
      minutes: 30,
    },
    {
      what: 'is in a gap',
      zone: 'Europe/Berlin',
      from: '2026-03-29T00:30:00Z',
      window: { start: '02:15', end: '02:45' },
      opens: '2026-03-30T00:15:00.000Z',
      minutes: 30,
    },
    // Clocks go from 02:00 back to 01:00 at 06:00 UTC.
    {
      what: 'starts where a time comes twice',
      zone: 'America/New_York',
      from: '2026-11-01T04:00:00Z',
      window: { start: '01:30', end: '02:30' },
      opens: '2026-11-01T05:30:00.000Z',
      minutes: 120,
    },
    {
      what: 'ends where a time comes twice',
      zone: 'America/New_York',
      from: '2026-11-01T04:00:00Z',
      window: { start: '00:30', end: '01:30' },
      opens: '2026-11-01T04:30:00.000Z',
      minutes: 60,
    },
    // Clocks go forward by half an hour, from 02:00 to 02:30.
    {
      what: 'starts in a short gap',
      zone: 'Australia/Lord_Howe',
      from: '2026-10-03T15:00:00Z',
      window: { start: '02:15', end: '03:00' },
      opens: '2026-10-03T15:30:00.000Z',
      minutes: 30,
    },
  ])('a window that $what', ({ zone, from, window, opens, minutes }) => {
    expect(open([window], zone, from)).toBe(opens)
    expect(open([window], zone, from, minutes)).toBe(opens)
    // The window is not longer on that day.
    expect(open([window], zone, from, minutes + 1)).not.toBe(opens)
  })

  const time = fc.integer({ min: 0, max: 24 * 12 - 1 }).map((fives) => {
    return `${String(Math.floor(fives / 12)).padStart(2, '0')}:${String((fives % 12) * 5).padStart(2, '0')}`
  })
  const window = fc
    .record({ days: fc.subarray([...weekdays], { minLength: 1 }), start: time, end: time })
    .filter(({ start, end }) => start !== end)
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'America/Sao_Paulo',
    'Asia/Kathmandu',
    'Pacific/Chatham',
  )
  // Days around which clocks change somewhere.
  const changes = ['2026-03-08', '2026-03-29', '2026-04-05', '2026-09-27', '2026-10-04', '2026-10-25', '2026-11-01']
  const from = fc
    .record({ day: fc.constantFrom(...changes), minutes: fc.integer({ min: -2880, max: 2880 }) })
    .map(({ day, minutes }) => Date.parse(`${day}T00:00:00Z`) + minutes * MINUTE_MS)

  /** True if the clock has reached the start of a window of the list, and has not reached its end. */
  function isOpen(
    windows: readonly (MaintenanceWindow & { readonly days: readonly string[] })[],
    zone: string,
    atMs: number,
  ): boolean {
    const here = DateTime.fromMillis(atMs, { zone })
    const reached = (day: DateTime, text: string): boolean => {
      const wanted = day.startOf('day').toFormat('yyyy-LL-dd') + text
      // The latest reading so far: clocks that are set back show some times twice.
      const latest = [0, 30, 60].map((ago) => here.minus({ minutes: ago }).toFormat('yyyy-LL-ddHH:mm'))
      return latest.some((reading) => reading >= wanted)
    }
    return windows.some(({ days, start, end }) =>
      [here.minus({ days: 1 }), here].some((day) => {
        const opensToday = days.some((name) => name === weekdays[day.weekday - 1])
        const lastDay = minutesOf(end) <= minutesOf(start) ? day.plus({ days: 1 }) : day
        return opensToday && reached(day, start) && !reached(lastDay, end)
      }),
    )
  }

  test('an opening is in a window, and nothing before it is, in all zones and whatever clocks do', () => {
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 3 }), zones, from, (windows, zone, fromMs) => {
        const foundMs = findOpening(windows, zone, { fromMs, needMs: 0 })
        expect(foundMs).not.toBeNull()
        if (foundMs === null) return
        expect(isOpen(windows, zone, foundMs)).toBe(true)
        const stepMs = 5 * MINUTE_MS
        const lastMs = Math.min(foundMs - 1, fromMs + 300 * stepMs)
        for (let atMs = fromMs; atMs <= lastMs; atMs += stepMs) expect(isOpen(windows, zone, atMs)).toBe(false)
      }),
      { numRuns: 30 },
    )
  })

  test('a device that begins ends within windows', () => {
    const need = fc.integer({ min: 1, max: 300 })
    fc.assert(
      fc.property(
        fc.array(window, { minLength: 1, maxLength: 3 }),
        zones,
        from,
        need,
        (windows, zone, fromMs, minutes) => {
          const needMs = minutes * MINUTE_MS
          const foundMs = findOpening(windows, zone, { fromMs, needMs })
          if (foundMs === null) {
            expect(longestMs(windows)).toBeLessThan(needMs)
            return
          }
          for (let atMs = foundMs; atMs < foundMs + needMs; atMs += 5 * MINUTE_MS)
            expect(findOpening(windows, zone, { fromMs: atMs, needMs: 0 })).toBe(atMs)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('a window closes when the last device that needs so long could have begun, and none is open then', () => {
    const need = fc.integer({ min: 1, max: 300 })
    fc.assert(
      fc.property(
        fc.array(window, { minLength: 1, maxLength: 3 }),
        zones,
        from,
        need,
        (windows, zone, fromMs, minutes) => {
          const closesMs = findClosing(windows, zone, fromMs)
          const isOpenNow = findOpening(windows, zone, { fromMs, needMs: 0 }) === fromMs
          expect(closesMs !== null).toBe(isOpenNow)
          if (closesMs === null) return
          const needMs = minutes * MINUTE_MS
          const fits = findOpening(windows, zone, { fromMs, needMs }) === fromMs
          expect(fits).toBe(fromMs + needMs <= closesMs)
          expect(findOpening(windows, zone, { fromMs: closesMs - 1, needMs: 0 })).toBe(closesMs - 1)
        },
      ),
      { numRuns: 50 },
    )
  })
})

test('windows are described for people', () => {
  expect(describeWindows([night, { start: '01:00', end: '02:00' }])).toBe('sat 22:00-04:00; daily 01:00-02:00')
})
