import { describe, expect, it } from 'vitest'
import { mergeDocument } from './documents.ts'

describe('mergeDocument', () => {
  it('replaces what is named, unsets by a minus sign, leaves the rest and its order', () => {
    const before = { a: { deep: 1 }, b: [2, 1], c: 3 }
    expect(Object.entries(mergeDocument(before, { '-b': '', a: { other: 2 }, d: null, '-e': 0 }))).toEqual([
      ['a', { other: 2 }],
      ['c', 3],
      ['d', null],
      ['-e', 0],
    ])
    expect(before).toEqual({ a: { deep: 1 }, b: [2, 1], c: 3 })
  })

  it('does not let a document grow by every body, and lets one that is too long become shorter', () => {
    const long = 'x'.repeat(600_000)
    expect(() => mergeDocument({ a: long }, { b: long })).toThrow('All fields together')
    expect(mergeDocument({ a: long, b: long }, { '-b': '' })).toEqual({ a: long })
  })
})
