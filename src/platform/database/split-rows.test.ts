import { expect, test } from 'vitest'
import { splitRows, splitRowsLazily } from './split.ts'

test.each([
  [0, []],
  [1, [1]],
  [1000, [1000]],
  [1001, [1000, 1]],
  [2000, [1000, 1000]],
])('%i rows are written by statements of %j rows, in their order', (count, sizes) => {
  const rows = Array.from({ length: count }, (_, index) => index)
  const parts = splitRows(rows)
  expect(parts.map(({ length }) => length)).toEqual(sizes)
  expect(parts.flat()).toEqual(rows)
  expect([...splitRowsLazily(new Set(rows))]).toEqual(parts)
})
