import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { parseSort, parseTimeRange, searchQuery } from './search.ts'

const now = new Date('2026-03-01T12:00:00Z')
const at = (iso: string): Date => new Date(iso)

describe('parseTimeRange', () => {
  it('is the last day unless something else is asked for', () => {
    expect(parseTimeRange({}, now)).toEqual({ start: at('2026-02-28T12:00:00Z'), end: now })
  })

  it('takes epoch seconds, now and offsets; a duration counts from the end', () => {
    expect(parseTimeRange({ start: '1700000000.5', end: 'now' }, now)).toEqual({
      start: at('2023-11-14T22:13:20.500Z'),
      end: now,
    })
    expect(parseTimeRange({ end: '-1h', duration: '30m' }, now)).toEqual({
      start: at('2026-03-01T10:30:00Z'),
      end: at('2026-03-01T11:00:00Z'),
    })
    expect(parseTimeRange({ start: '-2w' }, now).start).toEqual(at('2026-02-15T12:00:00Z'))
  })

  it('refuses what it does not understand, naming the field', () => {
    for (const [field, value] of [
      ['start', 'yesterday'],
      ['start', '-1y'],
      ['end', '999999999999'],
      ['duration', '-1d'],
      ['duration', '1.5d'],
    ] as const)
      expect(() => parseTimeRange({ [field]: value }, now)).toThrow(
        expect.objectContaining({ code: 'invalid', message: expect.stringContaining(`Invalid field ${field}: `) }),
      )
  })

  it.each(['start', 'end', 'duration'] as const)(
    'takes for %s what the published pattern takes, and nothing else',
    (field) => {
      const pattern = new RegExp(String(Reflect.get(searchQuery[field], 'pattern')), 'u')
      const some = fc.stringMatching(/^-?\d{0,13}(\.\d{0,2})?[smhdwy]?$|^now ?$|^.{0,3}$/)
      fc.assert(
        fc.property(fc.oneof(some, fc.stringMatching(pattern)), (text) => {
          try {
            parseTimeRange({ [field]: text }, now)
            expect(text).toMatch(pattern)
          } catch (error) {
            if (!(error instanceof AppError)) throw error
            // No pattern states that times end with the year 9999.
            if (pattern.test(text)) expect(/\d+/.exec(text)?.[0].length).toBeGreaterThan(5)
          }
        }),
      )
    },
  )

  it("never gives an instant that PostgreSQL can't keep", () => {
    const instant = fc.oneof(
      fc
        .nat(9_999_999)
        .chain((count) => fc.constantFrom('s', 'm', 'h', 'd', 'w', '').map((unit) => `-${count}${unit}`)),
      fc.integer({ min: 0, max: 300_000_000_000 }).map(String),
      fc.constant('now'),
    )
    const duration = instant.map((text) => text.replace('-', ''))
    fc.assert(
      fc.property(fc.record({ start: instant, end: instant, duration }, { requiredKeys: [] }), (query) => {
        try {
          for (const date of Object.values(parseTimeRange(query, now))) {
            expect(date.getTime()).toBeGreaterThanOrEqual(0)
            expect(date.getUTCFullYear()).toBeLessThan(10_000)
          }
        } catch (error) {
          if (!(error instanceof AppError)) throw error
        }
      }),
    )
  })
})

it('a minus sorts downwards', () => {
  expect(parseSort('-timestamp')).toEqual({ by: 'timestamp', direction: 'desc' })
  expect(parseSort('timestamp')).toEqual({ by: 'timestamp', direction: 'asc' })
})
