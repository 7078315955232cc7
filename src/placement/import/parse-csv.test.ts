import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseMacsCsv } from './parse-csv.ts'

it.each([
  ['', []],
  ['Vendor AP name,AP Mac\nHall,5c5b35000001\n', [['Hall', '5c5b35000001']]],
  ['Hall,5C:5B:35:00:00:01', [['Hall', '5c5b35000001']]],
  ['\uFEFF"a, ""b""", 5c-5b-35-00-00-01 ,more\r\n\r\n', [['a, "b"', '5c5b35000001']]],
])('%j', (text, expected) => expect([...parseMacsCsv(text)]).toEqual(expected))

it('names the row with the error', () => {
  expect(() => parseMacsCsv('name,mac\na,5c5b35000001\nb,nonsense')).toThrow('Invalid field csv: ')
  expect(() => parseMacsCsv('a,5c5b35000001\na,5c5b35000002')).toThrow('Invalid field csv: ')
})

it('throws no other error, for any input', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(parseMacsCsv(text)).toBeInstanceOf(Map)
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid', message: expect.stringContaining('Invalid field csv: ') })
      }
    }),
  )
})
