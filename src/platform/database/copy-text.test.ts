import { expect, it } from 'vitest'
import { copyText } from './copy-text.ts'

it('separates values and rows', () => {
  expect(
    copyText([
      ['a', 1, true],
      ['b', 2.5, false],
    ]),
  ).toBe('a\t1\ttrue\nb\t2.5\tfalse\n')
})

it('escapes what separates, and the escape itself', () => {
  expect(copyText([['a\tb\nc\rd\\N']])).toBe('a\\tb\\nc\\rd\\\\N\n')
})

it('tells null from texts', () => {
  expect(copyText([[null, undefined, '', '\\N']])).toBe('\\N\t\\N\t\t\\\\N\n')
})

it('writes times and bytes', () => {
  expect(copyText([[new Date(0), Buffer.from([0, 255])]])).toBe('1970-01-01T00:00:00.000Z\t\\\\x00ff\n')
})
