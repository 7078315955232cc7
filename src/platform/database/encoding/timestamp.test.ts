import fc from 'fast-check'
import pg from 'pg'
import { expect, it } from 'vitest'
import { decodeTimestamp } from './timestamp.ts'

const decodeByDriver = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ)
const fail = (text: string): never => {
  throw new Error(`${text} was left to the driver`)
}

/** As PostgreSQL writes it, without zeros at the end of the fraction. */
function written(at: Date, microseconds: number): string {
  const [date = '', time = ''] = at.toISOString().slice(0, -1).split('T')
  const [seconds, ms = ''] = time.split('.')
  const fraction = `${ms}${String(microseconds).padStart(3, '0')}`.replace(/0+$/, '')
  return `${date} ${seconds}${fraction === '' ? '' : `.${fraction}`}+00`
}

it('decodes times in UTC, and cuts off microseconds', () => {
  const years = { min: new Date('0100-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') }
  const times = fc.date({ ...years, noInvalidDate: true })
  fc.assert(
    fc.property(times, fc.nat(999), (at, microseconds) => {
      expect(decodeTimestamp(written(at, microseconds), fail)).toEqual(at)
    }),
  )
})

it.each([
  '2026-03-01 12:00:00.5+01',
  '2026-03-01 12:00:00-03:30',
  '0044-03-15 12:00:00+00 BC',
  '0044-03-15 12:00:00+00',
  '12026-03-01 12:00:00.123+00',
  'infinity',
  '-infinity',
])('leaves %s to the driver', (text) => {
  expect(decodeTimestamp(text, () => 'left')).toBe('left')
  expect(decodeTimestamp(text, decodeByDriver)).toEqual(decodeByDriver(text))
})
