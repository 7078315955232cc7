import { type BinaryType, type ElementType, elementTypes } from './element-types.ts'

/** Begins each copy in the binary format: the signature, the flags, and the length of an extension. */
const HEADER = Buffer.from('PGCOPY\n\u00FF\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const COUNT_BYTES = 2
const LENGTH_BYTES = 4
/** Stands for the number of columns after the last row, and for the length of a missing value. */
const NONE = -1

/**
 * Encodes rows in the binary format of `copy`.
 * @param values The values of all rows, one row after the other, each in the order of the types.
 * @returns Null if a value has no such encoding.
 */
export function copyBytes(types: readonly BinaryType[], values: readonly unknown[]): Buffer | null {
  const elements: readonly ElementType[] = types.map((type) => elementTypes[type])
  const bytes = sizeOf(elements, values)
  if (bytes === null) return null
  const data = Buffer.allocUnsafe(bytes)
  let at = HEADER.copy(data)
  for (let row = 0; row < values.length; row += elements.length) {
    at = data.writeInt16BE(elements.length, at)
    for (let column = 0; column < elements.length; column += 1) {
      const value = values[row + column]
      const size = value === null ? NONE : (elements[column]?.write(value, data, at + LENGTH_BYTES) ?? NONE)
      if (size === NONE && value !== null) return null
      at = data.writeInt32BE(size, at) + Math.max(size, 0)
    }
  }
  data.writeInt16BE(NONE, at)
  return data
}

/** Returns the number of bytes; null if a value has no such encoding. */
function sizeOf(elements: readonly ElementType[], values: readonly unknown[]): number | null {
  const rowBytes = COUNT_BYTES + elements.length * LENGTH_BYTES
  let bytes = HEADER.length + (values.length / elements.length) * rowBytes + COUNT_BYTES
  // An iterator makes an object for each of the thousands of values.
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]
    const size = value === null ? 0 : (elements[index % elements.length]?.sizeOf(value) ?? NONE)
    if (size === NONE) return null
    bytes += size
  }
  return bytes
}
