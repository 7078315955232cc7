import { invalidField } from '../errors.ts'
import type { ByteReader } from './byte-reader.ts'
import { orientationOnly } from './orientation.ts'
import { brokenImage } from './refusals.ts'

/** Source: ITU-T T.81, table B.1. */
const END_OF_IMAGE = 0xd9
const START_OF_SCAN = 0xda
const APP0 = 0xe0
const APP1 = 0xe1
const APP2 = 0xe2
const APP14 = 0xee

const EXIF = 'Exif\0\0'
/** A progressive picture with a large color profile has a few hundred. */
const MAX_SEGMENTS = 10_000

/** @throws AppError invalid for too many segments, or where the stream ends before the picture. */
export async function* stripJpeg(reader: ByteReader): AsyncGenerator<Buffer> {
  yield await reader.take(2)
  for (let segments = 0; ; segments += 1) {
    if (segments > MAX_SEGMENTS) throw invalidField('file', `has more than ${MAX_SEGMENTS} JPEG segments`)
    const marker = await takeMarker(reader)
    if (marker === END_OF_IMAGE) {
      yield Buffer.from([0xff, marker])
      return
    }
    const length = await reader.take(2)
    const bytes = length.length < 2 ? 0 : length.readUInt16BE()
    if (bytes < 2) throw brokenImage()
    const content = await reader.take(bytes - 2)
    if (content.length < bytes - 2) throw brokenImage()
    const needed = neededContent(marker, content)
    if (needed !== null) yield encodeSegment(marker, needed)
    if (marker === START_OF_SCAN) yield* passScan(reader)
  }
}

/** Fill bytes may precede a marker; other bytes there are skipped, as decoders do. */
async function takeMarker(reader: ByteReader): Promise<number> {
  let isPrefixed = false
  for (;;) {
    const chunk = await reader.next()
    if (chunk === null) throw brokenImage()
    for (const [index, byte] of chunk.entries()) {
      if (isPrefixed && byte !== 0x00 && byte !== 0xff) {
        reader.unread(chunk.subarray(index + 1))
        return byte
      }
      isPrefixed = byte === 0xff
    }
  }
}

/** @returns Null for a segment that is dropped: comments, thumbnails, data of cameras and programs. */
function neededContent(marker: number, content: Buffer): Buffer | null {
  const starts = (name: string): boolean => content.toString('latin1', 0, name.length) === name
  // Frames, scans, tables, restart intervals.
  if (marker >= 0xc0 && marker <= 0xdf) return content
  // The meaning of the colors.
  if (marker === APP0 && starts('JFIF\0')) return content
  if (marker === APP2 && starts('ICC_PROFILE\0')) return content
  if (marker === APP14 && starts('Adobe')) return content
  if (marker !== APP1 || !starts(EXIF)) return null
  const orientation = orientationOnly(content.subarray(EXIF.length))
  return orientation && Buffer.concat([Buffer.from(EXIF, 'latin1'), orientation])
}

function encodeSegment(marker: number, content: Buffer): Buffer {
  const segment = Buffer.alloc(content.length + 4)
  segment.set([0xff, marker])
  segment.writeUInt16BE(content.length + 2, 2)
  segment.set(content, 4)
  return segment
}

/** Yields the compressed pixels, up to the next marker. */
async function* passScan(reader: ByteReader): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = await reader.next()
    if (chunk === null) throw brokenImage()
    const end = endOfScan(chunk)
    yield end === -1 ? chunk : chunk.subarray(0, end)
    if (end === -1) continue
    reader.unread(chunk.subarray(end))
    if (end + 1 < chunk.length) return
    const marker = await reader.take(2)
    if (marker.length < 2) throw brokenImage()
    reader.unread(marker)
    if (endOfScan(marker) === 0) return
  }
}

/** Returns where a marker begins, or may begin if its second byte is yet to arrive; -1 if none does. */
function endOfScan(bytes: Buffer): number {
  let at = bytes.indexOf(0xff)
  while (at !== -1 && isOfScan(bytes[at + 1])) at = bytes.indexOf(0xff, at + 2)
  return at
}

/** After 0xff: a zero, which makes it a byte of the scan, or a restart marker. */
function isOfScan(byte: number | undefined): boolean {
  return byte === 0x00 || (byte !== undefined && byte >= 0xd0 && byte <= 0xd7)
}
