import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseExactJson } from '../../platform/json/exact-json.ts'
import { encodeJson } from './encode-json.ts'

it('encodes every value as JSON.stringify does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect(await encodeJson(value)).toBe(JSON.stringify(value))
    }),
  )
})

it('leaves out what JSON has no value for, and keeps the digits of long integers', async () => {
  const values = [
    [undefined, 1, () => 1],
    { a: undefined, b: [1, 2], c: undefined, d: [undefined, null] },
    { list: [] },
    { at: new Date(0), list: [new Date(0), new Date(1)] },
    { toJSON: () => 'own', list: [1, 2] },
    parseExactJson('{"list":[12345678901234567890,1]}'),
    parseExactJson('[12345678901234567890]'),
  ]
  for (const value of values) expect(await encodeJson(value)).toBe(JSON.stringify(value))
})

it('encodes long lists in slices, between which others have their turn', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => ({ index, text: 'ä'.repeat(index % 3 === 0 ? 100_000 : 10) }))
  for (const value of [rows, { results: rows, total: 30 }]) {
    let turns = 0
    const count = (): void => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const encoded = await encodeJson(value)
    clearImmediate(next)
    expect(encoded).toBeInstanceOf(Buffer)
    expect(encoded.toString()).toBe(JSON.stringify(value))
    expect(turns).toBeGreaterThan(3)
  }
})
