import { expect, test } from 'vitest'
import { arrayLiteral } from './array-literal.ts'

const literalOf = (values: readonly unknown[]): string | null => arrayLiteral(values, (value) => value)

test('encodes texts, numbers, times, bytes and missing values', () => {
  expect(literalOf([])).toBe('{}')
  expect(literalOf(['a', 'null', '', null])).toBe('{"a","null","",NULL}')
  expect(literalOf([1, -0.5, true, false])).toBe('{1,-0.5,true,false}')
  expect(literalOf([new Date(0)])).toBe('{"1970-01-01T00:00:00.000Z"}')
  expect(literalOf([Buffer.from([0, 255])])).toBe('{"\\\\x00ff"}')
})

test('escapes only quotation marks and backslashes', () => {
  expect(literalOf(['say "a\\b", {c}'])).toBe('{"say \\"a\\\\b\\", {c}"}')
  expect(literalOf(['"line"\nend', '\u{1f600}\t"'])).toBe('{"\\"line\\"\nend","\u{1f600}\t\\""}')
})

test('writes an id without quotation marks, and nothing else that is as long', () => {
  const id = '01890000-0000-7000-8000-00000000abcd'
  expect(literalOf([id, id, null, `${id.slice(1)},`])).toBe(`{${id},${id},NULL,"${id.slice(1)},"}`)
})

test('encodes equal values that follow one another, and others, in their order', () => {
  const at = new Date(0)
  expect(literalOf([null, null, 'a', 'a', 'b', 'a', null])).toBe('{NULL,NULL,"a","a","b","a",NULL}')
  expect(literalOf([at, at, new Date(1)])).toBe(
    '{"1970-01-01T00:00:00.000Z","1970-01-01T00:00:00.000Z","1970-01-01T00:00:00.001Z"}',
  )
  expect(literalOf([0, -0, NaN, NaN])).toBe('{0,0,NaN,NaN}')
})

test('leaves other values to the driver', () => {
  for (const value of [undefined, {}, [1], new Date(-1), new Date(NaN), new Date(8.64e15), 1n])
    expect(literalOf(['a', value])).toBeNull()
})
