import fc from 'fast-check'
import { expect, it } from 'vitest'
import { details, fields, table, timeText } from './output.ts'

it('aligns columns, and fits each row into the width', () => {
  const cell = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constantFrom('\u001b[2J', 'a\nb', '\u009b0m'))
  fc.assert(
    fc.property(
      fc.array(fc.record({ one: cell, two_words: cell })),
      fc.integer({ min: 1, max: 200 }),
      (rows, width) => {
        const lines = table(fields('one', 'two_words'), rows, width).split('\n')
        expect(lines).toHaveLength(rows.length + 1)
        for (const line of lines) {
          expect(line.length).toBeLessThanOrEqual(width)
          // oxlint-disable-next-line no-control-regex
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        }
      },
    ),
  )
})

it('shows what is known of an object, one field to a line', () => {
  expect(details({ name: 'Hall', ip: null, tags: ['a'] })).toBe('name  Hall\ntags  ["a"]')
  expect(table(fields('name', 'last_seen'), [{ name: 'Hall', last_seen: 5 }], Infinity)).toBe(
    'NAME  LAST SEEN\nHall  5',
  )
})

it('shows times with two digits of each part, whatever the hour', () => {
  for (let hour = 0; hour < 24; hour += 1)
    expect(timeText(hour * 3600)).toMatch(/^(1969-12-31|1970-01-0[12]) \d\d:\d\d:\d\d \S+$/)
})
