import { crc32 } from 'node:zlib'
import { invalidField } from '../errors.ts'
import type { ByteReader } from './byte-reader.ts'
import { orientationOnly } from './orientation.ts'
import { brokenImage } from './refusals.ts'

export const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const KIB = 1024
/** Encoders that cut the pixels into pieces of a kilobyte produce 20,000 for the largest upload. */
const MAX_CHUNKS = 50_000

/**
 * The maximum bytes of each chunk that a picture needs. Each may occur once, except IDAT. Source: Portable Network
 * Graphics (PNG) Specification, third edition, 11.
 */
const maxBytesOf: ReadonlyMap<string, number> = new Map([
  ['IHDR', 13],
  ['PLTE', 768],
  ['tRNS', 256],
  ['IDAT', 0x7fff_ffff],
  ['IEND', 0],
  // The meaning of the colors.
  ['cHRM', 32],
  ['gAMA', 4],
  ['sBIT', 4],
  ['sRGB', 1],
  ['cICP', 4],
  // Compressed; decoders check the length in it before they unpack it.
  ['iCCP', 1024 * KIB],
  // Buffered, and replaced by its orientation.
  ['eXIf', 64 * KIB],
])

/**
 * @throws AppError invalid for too many chunks, for a needed chunk that is too large or occurs twice, and if the end
 *   is missing.
 */
export async function* stripPng(reader: ByteReader): AsyncGenerator<Buffer> {
  yield await reader.take(PNG_SIGNATURE.length)
  const seen = new Set<string>()
  for (let chunks = 0; ; chunks += 1) {
    if (chunks > MAX_CHUNKS) throw invalidField('file', `has more than ${MAX_CHUNKS} PNG chunks`)
    const header = await reader.take(8)
    if (header.length < 8) throw brokenImage()
    const length = header.readUInt32BE(0)
    const type = header.toString('latin1', 4)
    const withCrc = length + 4
    const maxBytes = maxBytesOf.get(type)
    if (maxBytes === undefined) {
      for await (const _ of reader.pass(withCrc));
      continue
    }
    if (length > maxBytes)
      throw invalidField('file', `has a PNG chunk ${type} of ${length} bytes; at most ${maxBytes} are allowed`)
    if (type !== 'IDAT' && seen.has(type)) throw invalidField('file', `has more than one PNG chunk ${type}`)
    seen.add(type)
    if (type === 'eXIf') {
      const exif = await reader.take(withCrc)
      const orientation = orientationOnly(exif.subarray(0, length))
      if (orientation !== null) yield encodeChunk(type, orientation)
      continue
    }
    yield header
    yield* reader.pass(withCrc)
    if (type === 'IEND') return
  }
}

function encodeChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(data.length + 12)
  chunk.writeUInt32BE(data.length, 0)
  chunk.write(type, 4, 'latin1')
  chunk.set(data, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8)
  return chunk
}
