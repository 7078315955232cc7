import { type BinaryType, type ElementType, elementTypes } from './element-types.ts'

/** The number of dimensions, whether a value is missing, the type, and the length and the first index of the dimension. */
const HEADER_BYTES = 20
const EMPTY_HEADER_BYTES = 12
const LENGTH_BYTES = 4

/**
 * Encodes a value of each row as an array in the binary format of PostgreSQL. Neither side then makes or reads the texts of
 * ids, times and bytes, or escapes others.
 * @returns Null if the driver has to encode the values.
 */
export function arrayBytes<R>(type: BinaryType, rows: readonly R[], valueOf: (row: R) => unknown): Buffer | null {
  const element: ElementType = elementTypes[type]
  const values = rows.map(valueOf)
  let bytes = values.length === 0 ? EMPTY_HEADER_BYTES : HEADER_BYTES
  let nulls = 0
  // An iterator makes an object for each of the thousands of values.
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]
    const size = value === null ? 0 : element.sizeOf(value)
    if (size < 0) return null
    bytes += LENGTH_BYTES + size
    if (value === null) nulls += 1
  }
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(Math.min(values.length, 1), 0)
  array.writeInt32BE(Math.min(nulls, 1), 4)
  array.writeInt32BE(element.oid, 8)
  if (values.length === 0) return array
  array.writeInt32BE(values.length, 12)
  array.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]
    const size = value === null ? -1 : element.write(value, array, at + LENGTH_BYTES)
    if (size < 0 && value !== null) return null
    array.writeInt32BE(size, at)
    at += LENGTH_BYTES + Math.max(size, 0)
  }
  return array
}
