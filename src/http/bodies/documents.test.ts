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

  it('does not let a document grow by every body', () => {
    const half = 'x'.repeat(70 * 1024)
    expect(() => mergeDocument({ a: half }, { b: half })).toThrow('at most 131072 bytes of JSON')
    expect(mergeDocument({ a: half }, { b: half }, 200 * 1024)).toEqual({ a: half, b: half })
  })

  it('limits the keys of each object, at any depth, unless there were as many before', () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
    expect(Object.keys(mergeDocument({}, keys(1000)))).toHaveLength(1000)
    for (const [before, change] of [
      [keys(1000), { more: 1 }],
      [{}, { in: [{ it: keys(1001) }] }],
      // These are encrypted as a whole.
      [{}, { headers: keys(1001) }],
      [{}, { psks: [{ of: keys(1001) }] }],
    ] as const)
      expect(() => mergeDocument(before, change)).toThrow('may have at most 1000 keys; one of these has 1001')
    const former = { in: keys(1001) }
    expect(mergeDocument(former, { name: 'x', '-k1': '' })).toEqual({ ...former, name: 'x' })
  })

  it('limits its secrets and addresses, unless there were as many before', () => {
    const hooks = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ url: `https://example.net/${index}` }))
    expect(mergeDocument({}, { hooks: hooks(1000) })).toEqual({ hooks: hooks(1000) })
    expect(() => mergeDocument({ hooks: hooks(1000) }, { password: 'x' })).toThrow(
      'at most 1000 secrets and addresses; this has 1001',
    )
    expect(() => mergeDocument({}, { psks: hooks(1001), urls: hooks(1001) })).toThrow('this has 1002')
    const former = { hooks: hooks(1001) }
    expect(mergeDocument(former, { name: 'x' })).toEqual({ ...former, name: 'x' })
  })

  it('lets one that is too long be changed, and become shorter', () => {
    const long = 'x'.repeat(600_000)
    expect(mergeDocument({ a: long }, { b: 1 })).toEqual({ a: long, b: 1 })
    expect(() => mergeDocument({ a: long }, { b: long })).toThrow('at most 1048576 bytes of JSON')
    expect(mergeDocument({ a: long, b: long }, { '-b': '' })).toEqual({ a: long })
  })
})
