/** How PostgreSQL sends and receives the values of a type. Source: the functions `*_recv` of PostgreSQL. */
export interface ElementType {
  /** The number of the type in the catalog, which never changes. */
  readonly oid: number
  /** Returns the bytes of a value; -1 if the driver has to encode it. */
  sizeOf(value: unknown): number
  /** Writes a value that has a size. @returns The number of bytes; -1 if the driver has to encode the value. */
  write(value: unknown, into: Buffer, at: number): number
}

const INT64_BYTES = 8
const UUID_BYTES = 16
const UUID_LENGTH = 36
const HIGH_WORD = 2 ** 32
/** Times are counted from here. */
const EPOCH_MS = Date.UTC(2000, 0)

/** The values of hexadecimal digits by their character codes; other characters have a bit that no digit has. */
const NO_DIGIT = 0x80
const digits = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(digit) ? NO_DIGIT : digit
})
const HYPHEN = 45

const digitAt = (text: string, place: number): number => digits[text.charCodeAt(place)] ?? NO_DIGIT

/** @returns -1 if it is not an id. */
function writeUuid(text: string, into: Buffer, at: number): number {
  let seen = 0
  let place = 0
  for (let index = 0; index < UUID_BYTES; index += 1) {
    if (index === 4 || index === 6 || index === 8 || index === 10) {
      if (text.charCodeAt(place) !== HYPHEN) return -1
      place += 1
    }
    const high = digitAt(text, place)
    const low = digitAt(text, place + 1)
    seen |= high | low
    into[at + index] = (high << 4) | low
    place += 2
  }
  return seen < NO_DIGIT ? UUID_BYTES : -1
}

/** @param value A safe integer. */
function writeInt64(value: number, into: Buffer, at: number): number {
  const high = Math.floor(value / HIGH_WORD)
  into.writeInt32BE(high, at)
  into.writeUInt32BE(value - high * HIGH_WORD, at + 4)
  return INT64_BYTES
}

function microseconds(value: unknown): number {
  return value instanceof Date ? (value.getTime() - EPOCH_MS) * 1000 : Number.NaN
}

function isInteger(value: unknown, bits: number): value is number {
  return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** (bits - 1)
}

/** Out of its range a number would be written as infinite or zero, which PostgreSQL refuses. */
function isReal(value: unknown): value is number {
  if (typeof value !== 'number') return false
  const rounded = Math.fround(value)
  return !Number.isFinite(value) || (Number.isFinite(rounded) && (rounded !== 0 || value === 0))
}

const text: ElementType = {
  oid: 25,
  sizeOf: (value) => (typeof value === 'string' ? Buffer.byteLength(value) : -1),
  write: (value, into, at) => into.write(String(value), at),
}

/** The types that can be encoded in the binary format. */
export const elementTypes = {
  uuid: {
    oid: 2950,
    sizeOf: (value) => (typeof value === 'string' && value.length === UUID_LENGTH ? UUID_BYTES : -1),
    write: (value, into, at) => writeUuid(String(value), into, at),
  },
  text,
  bigint: {
    oid: 20,
    sizeOf: (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? INT64_BYTES : -1),
    write: (value, into, at) => writeInt64(Number(value), into, at),
  },
  boolean: {
    oid: 16,
    sizeOf: (value) => (typeof value === 'boolean' ? 1 : -1),
    write: (value, into, at) => into.writeUInt8(Number(value), at) - at,
  },
  smallint: {
    oid: 21,
    sizeOf: (value) => (isInteger(value, 16) ? 2 : -1),
    write: (value, into, at) => into.writeInt16BE(Number(value), at) - at,
  },
  integer: {
    oid: 23,
    sizeOf: (value) => (isInteger(value, 32) ? 4 : -1),
    write: (value, into, at) => into.writeInt32BE(Number(value), at) - at,
  },
  real: {
    oid: 700,
    sizeOf: (value) => (isReal(value) ? 4 : -1),
    write: (value, into, at) => into.writeFloatBE(Number(value), at) - at,
  },
  float8: {
    oid: 701,
    sizeOf: (value) => (typeof value === 'number' ? 8 : -1),
    write: (value, into, at) => into.writeDoubleBE(Number(value), at) - at,
  },
  timestamptz: {
    oid: 1184,
    sizeOf: (value) => (Number.isSafeInteger(microseconds(value)) ? INT64_BYTES : -1),
    write: (value, into, at) => writeInt64(microseconds(value), into, at),
  },
  bytea: {
    oid: 17,
    sizeOf: (value) => (Buffer.isBuffer(value) ? value.length : -1),
    write: (value, into, at) => (Buffer.isBuffer(value) ? value.copy(into, at) : -1),
  },
  // The text follows the version of the format.
  jsonb: {
    oid: 3802,
    sizeOf: (value) => (typeof value === 'string' ? 1 + text.sizeOf(value) : -1),
    write: (value, into, at) => 1 + text.write(value, into, into.writeUInt8(1, at)),
  },
} satisfies Record<string, ElementType>

/** The name of a type that can be encoded. */
export type BinaryType = keyof typeof elementTypes
