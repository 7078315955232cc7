import { expect, test } from 'vitest'
import { arrayLiteral } from './array-literal.ts'

test('encodes texts, numbers, times, bytes and missing values', () => {
  expect(arrayLiteral([])).toBe('{}')
  expect(arrayLiteral(['a', 'null', '', null])).toBe('{"a","null","",NULL}')
  expect(arrayLiteral([1, -0.5, true, false])).toBe('{1,-0.5,true,false}')
  expect(arrayLiteral([new Date(0)])).toBe('{"1970-01-01T00:00:00.000Z"}')
  expect(arrayLiteral([Buffer.from([0, 255])])).toBe('{"\\\\x00ff"}')
})

test('escapes only quotation marks and backslashes', () => {
  expect(arrayLiteral(['say "a\\b", {c}'])).toBe('{"say \\"a\\\\b\\", {c}"}')
  expect(arrayLiteral(['"line"\nend', '\u{1f600}\t"'])).toBe('{"\\"line\\"\nend","\u{1f600}\t\\""}')
})

test('leaves other values to the driver', () => {
  for (const value of [undefined, {}, [1], new Date(-1), new Date(NaN), new Date(8.64e15), 1n])
    expect(arrayLiteral(['a', value])).toBeNull()
})
