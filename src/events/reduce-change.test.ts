import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reduceChange } from './reduce-change.ts'

describe('reduceChange', () => {
  it('keeps the fields that differ, and those that identify the object', () => {
    const before = { name: 'Office', notes: 'old', timezone: 'UTC', gone: [1], vars: { a: 1, b: 2 } }
    const after = { name: 'Office', notes: 'new', timezone: 'UTC', added: true, vars: { b: 2, a: 1 } }
    expect(reduceChange({ before, after })).toEqual({
      before: { name: 'Office', notes: 'old', gone: [1] },
      after: { name: 'Office', notes: 'new', added: true },
    })
  })

  it('keeps all fields of created and deleted objects', () => {
    expect(reduceChange({ after: { notes: '', x: null } })).toEqual({ after: { notes: '', x: null } })
    expect(reduceChange({ before: { a: 1 } })).toEqual({ before: { a: 1 } })
    expect(reduceChange({})).toEqual({})
  })

  it('shortens long values and adds their length', () => {
    const notes = 'n'.repeat(100_000)
    const rules = Array.from({ length: 10_000 }, (_, index) => index)
    const { after } = reduceChange({ before: {}, after: { notes, name: 'Office', rules } })
    expect(after).toEqual({
      notes: `${'n'.repeat(100)}... (100000 characters)`,
      name: 'Office',
      rules: `${JSON.stringify(rules).slice(0, 100)}... (48891 characters of JSON)`,
    })
  })

  it('keeps the MACs of a thousand devices', () => {
    const macs = Array.from({ length: 1000 }, (_, index) => index.toString(16).padStart(12, '0'))
    expect(reduceChange({ after: { macs } })).toEqual({ after: { macs } })
  })

  it('counts fields beyond fifty long ones, and those with a very long name', () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field${index}`, 'x'.repeat(20_000)]))
    const { after } = reduceChange({ after: { ...many, ['y'.repeat(20_000)]: 1 } })
    expect(Object.keys(after ?? {})).toHaveLength(51)
    expect(after?.['...']).toBe('11 more fields')
  })

  it('limits every document, and produces only storable ones', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }).map((text) => text.repeat(5000)),
    )
    const documents = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), texts))
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        const reduced = reduceChange({ before, after })
        for (const document of [reduced.before, reduced.after]) {
          const json = JSON.stringify(document)
          expect(Buffer.byteLength(json)).toBeLessThan(80 * 1024)
          // PostgreSQL refuses an escaped half of a surrogate pair (unless its backslash is itself escaped).
          expect(json.isWellFormed() && !/(?<!\\)(?:\\\\)*\\ud/.test(json)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})
