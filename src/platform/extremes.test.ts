import { expect, test } from 'vitest'
import { greatestOf, leastOf } from './extremes.ts'

test('finds the extremes of more values than a call can have arguments, and of none', () => {
  const many = Array.from({ length: 200_000 }, (_, index) => index)
  expect([leastOf(many), greatestOf(many)]).toEqual([0, 199_999])
  expect([leastOf([]), greatestOf([])]).toEqual([Infinity, -Infinity])
  expect([leastOf([1, NaN]), greatestOf([NaN, 1])]).toEqual([NaN, NaN])
})
