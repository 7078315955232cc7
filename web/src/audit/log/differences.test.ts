import { expect, it } from 'vitest'
import { findDifferences } from './differences.ts'

it('shows what differs alone', () => {
  const before = { name: 'Oslo', radios: { a: 1 }, notes: null, gone: '1' }
  const after = { name: 'Bergen', radios: { a: 1 }, notes: null, fresh: [1] }
  expect(findDifferences(before, after)).toEqual([
    { field: 'fresh', before: null, after: '[\n  1\n]' },
    { field: 'gone', before: '1', after: null },
    { field: 'name', before: 'Oslo', after: 'Bergen' },
  ])
})

it('shows all of what was created or deleted', () => {
  expect(findDifferences(undefined, { name: 'Oslo' })).toEqual([{ field: 'name', before: null, after: 'Oslo' }])
  expect(findDifferences({ name: 'Oslo' })).toEqual([{ field: 'name', before: 'Oslo', after: null }])
  expect(findDifferences()).toEqual([])
})
