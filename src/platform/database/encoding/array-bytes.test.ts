import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arrayBytes } from './array-bytes.ts'
import type { BinaryType } from './element-types.ts'

const bytesOf = (type: BinaryType, values: readonly unknown[]): Buffer | null =>
  arrayBytes(type, values, (value) => value)

/** Reads an array as the protocol of PostgreSQL describes it. */
function elementsOf(array: Buffer): { readonly oid: number; readonly elements: (Buffer | null)[] } {
  const [dimensions, hasNull, oid] = [array.readInt32BE(0), array.readInt32BE(4), array.readInt32BE(8)]
  const elements: (Buffer | null)[] = []
  let at = dimensions === 0 ? 12 : 20
  for (let left = dimensions === 0 ? 0 : array.readInt32BE(12); left > 0; left -= 1) {
    const length = array.readInt32BE(at)
    at += 4
    elements.push(length < 0 ? null : array.subarray(at, at + length))
    at += Math.max(length, 0)
  }
  expect(at).toBe(array.length)
  expect(hasNull).toBe(elements.includes(null) ? 1 : 0)
  return { oid, elements }
}

const hexOf = (type: BinaryType, values: readonly unknown[]): (string | null)[] =>
  elementsOf(bytesOf(type, values) ?? Buffer.alloc(0)).elements.map((element) => element?.toString('hex') ?? null)

test('encodes values of each type, and missing ones', () => {
  const id = '01890000-0000-7000-8000-0000000Abcde'
  expect(hexOf('uuid', [id, null])).toEqual(['018900000000700080000000000abcde', null])
  expect(hexOf('text', ['a"\\b', '', null, 'é\n'])).toEqual(['61225c62', '', null, 'c3a90a'])
  expect(hexOf('bigint', ['1', '-1', '999999999999999'])).toEqual([
    '0000000000000001',
    'ffffffffffffffff',
    '00038d7ea4c67fff',
  ])
  expect(hexOf('boolean', [true, false])).toEqual(['01', '00'])
  expect(hexOf('smallint', [-2])).toEqual(['fffe'])
  expect(hexOf('integer', [65536, -0])).toEqual(['00010000', '00000000'])
  expect(hexOf('real', [1.5, Number.NaN])).toEqual(['3fc00000', '7fc00000'])
  expect(hexOf('float8', [1.5])).toEqual(['3ff8000000000000'])
  expect(hexOf('timestamptz', [new Date('2000-01-01T00:00:00.001Z'), new Date('1999-12-31T23:59:59.999Z')])).toEqual([
    '00000000000003e8',
    'fffffffffffffc18',
  ])
  expect(hexOf('bytea', [Buffer.from([0, 255])])).toEqual(['00ff'])
  expect(hexOf('jsonb', ['{}'])).toEqual(['017b7d'])
})

test('encodes an array without values', () => {
  expect(elementsOf(bytesOf('uuid', []) ?? Buffer.alloc(0))).toEqual({ oid: 2950, elements: [] })
})

test('encodes texts as UTF-8, whatever they contain', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant(null))), (texts) => {
      const { oid, elements } = elementsOf(bytesOf('text', texts) ?? Buffer.alloc(0))
      expect(oid).toBe(25)
      expect(elements).toEqual(texts.map((text) => (text === null ? null : Buffer.from(text))))
    }),
  )
})

test('leaves values to the driver that have no such encoding', () => {
  const others: [BinaryType, readonly unknown[]][] = [
    ['uuid', ['01890000-0000-7000-8000-00000000abcx', '01890000x0000-7000-8000-00000000abcd', 'a', 1]],
    ['text', [1, {}, Buffer.alloc(1)]],
    ['bigint', ['9999999999999999', '', 'x', 1]],
    ['boolean', ['true', 1]],
    ['smallint', [32_768, 0.5, '1']],
    ['integer', [2 ** 31, 0.5, Number.NaN, '1']],
    ['real', [1e39, 1e-50, '1']],
    ['float8', ['1']],
    ['timestamptz', [new Date(Number.NaN), new Date(8.64e15), 'infinity', 1]],
    ['bytea', ['a', new Uint8Array(1)]],
    ['jsonb', [{}]],
  ]
  for (const [type, values] of others)
    for (const value of [...values, undefined]) expect(bytesOf(type, [null, value])).toBeNull()
})
