import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copyBytes } from './copy-bytes.ts'
import type { BinaryType } from './element-types.ts'

const SIGNATURE = '5047434f50590aff0d0a00'

/** Reads rows as the documentation of `copy` describes its binary format. */
function rowsOf(data: Buffer): (Buffer | null)[][] {
  expect(data.toString('hex', 0, 11)).toBe(SIGNATURE)
  expect([data.readInt32BE(11), data.readInt32BE(15)]).toEqual([0, 0])
  const rows: (Buffer | null)[][] = []
  let at = 19
  for (let count = data.readInt16BE(at); count !== -1; count = data.readInt16BE(at)) {
    at += 2
    const row: (Buffer | null)[] = []
    for (let left = count; left > 0; left -= 1) {
      const length = data.readInt32BE(at)
      at += 4
      row.push(length < 0 ? null : data.subarray(at, at + length))
      at += Math.max(length, 0)
    }
    rows.push(row)
  }
  expect(at + 2).toBe(data.length)
  return rows
}

function hexOf(types: readonly BinaryType[], values: readonly unknown[]): (string | null)[][] {
  const rows = rowsOf(copyBytes(types, values) ?? Buffer.alloc(0))
  return rows.map((row) => row.map((value) => value?.toString('hex') ?? null))
}

test('encodes the values of each row, and missing ones', () => {
  const types = ['uuid', 'integer', 'timestamptz', 'jsonb'] as const
  const id = '01890000-0000-7000-8000-00000000abcd'
  expect(hexOf(types, [id, 1, new Date('2000-01-01T00:00:00.001Z'), '{}', id, null, null, null])).toEqual([
    ['0189000000007000800000000000abcd', '00000001', '00000000000003e8', '017b7d'],
    ['0189000000007000800000000000abcd', null, null, null],
  ])
})

test('encodes no rows', () => {
  expect(hexOf(['text'], [])).toEqual([])
})

test('encodes texts as UTF-8, whatever they contain', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant(null))
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (rows) => {
      const written = rowsOf(copyBytes(['text', 'text'], rows.flat()) ?? Buffer.alloc(0))
      expect(written).toEqual(rows.map((row) => row.map((value) => (value === null ? null : Buffer.from(value)))))
    }),
  )
})

test('encodes nothing if a value has no such encoding', () => {
  expect(copyBytes(['text', 'integer'], ['a', 1, 'b', 0.5])).toBeNull()
  expect(copyBytes(['uuid'], ['01890000-0000-7000-8000-00000000abcx'])).toBeNull()
})
