import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stripImage } from './strip-image.ts'

const strip = (bytes: Buffer, cuts: readonly number[] = []) => buffer(stripImage(Readable.from(split(bytes, cuts))))

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

function chunk(type: string, data: Uint8Array | string = ''): Buffer {
  const body = Buffer.concat([Buffer.from(type), Buffer.from(data)])
  const around = Buffer.alloc(8)
  around.writeUInt32BE(body.length - 4, 0)
  around.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
}

function segment(marker: number, content: Uint8Array | string): Buffer {
  const data = Buffer.from(content as string, 'latin1')
  const start = Buffer.from([0xff, marker, 0, 0])
  start.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([start, data])
}

/** EXIF data with other entries before and after the orientation. */
function exif(orientation: number, order: 'II' | 'MM'): Buffer {
  const isBig = order === 'MM'
  const numbers = (size: 2 | 4, ...values: number[]): Buffer => {
    const bytes = Buffer.alloc(size * values.length)
    values.forEach((value, index) =>
      isBig ? bytes.writeUIntBE(value, index * size, size) : bytes.writeUIntLE(value, index * size, size),
    )
    return bytes
  }
  const entry = (tag: number, value: number) => Buffer.concat([numbers(2, tag, 3), numbers(4, 1), numbers(2, value, 0)])
  const directory = [entry(0x0103, 6), entry(0x0112, orientation), entry(0x0128, 2)]
  return Buffer.concat([Buffer.from(order), numbers(2, 42), numbers(4, 8), numbers(2, 3), ...directory, numbers(4, 0)])
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const head = chunk('IHDR', Buffer.alloc(13))
const end = chunk('IEND')
const pixels = chunk('IDAT', 'pixels')
const png = (...chunks: Buffer[]) => Buffer.concat([signature, head, ...chunks, pixels, end])

const scan = Buffer.concat([segment(0xda, 'scan'), Buffer.from([1, 0xff, 0x00, 2, 0xff, 0xd3, 3])])
const jpeg = (...segments: Buffer[]) =>
  Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, scan, Buffer.from([0xff, 0xd9])])

describe('of a PNG', () => {
  it('keeps pixels and colors', async () => {
    const colors = ['PLTE', 'tRNS', 'cHRM', 'gAMA', 'sBIT', 'sRGB', 'cICP', 'iCCP'].map((type) => chunk(type, 'x'))
    const whole = png(...colors, chunk('IDAT'))
    expect(await strip(whole)).toEqual(whole)
  })

  it('drops texts, times, animations, private chunks, and what follows the end', async () => {
    const others = ['tEXt', 'zTXt', 'iTXt', 'tIME', 'pHYs', 'acTL', 'fdAT', 'prVt'].map((type) => chunk(type, 'x'))
    expect(await strip(Buffer.concat([png(...others), Buffer.from('more')]))).toEqual(png())
  })

  it.each(['II', 'MM'] as const)('keeps of EXIF data (%s) the orientation alone', async (order) => {
    const kept = await strip(png(chunk('eXIf', exif(6, order))))
    expect(kept).toEqual(png(chunk('eXIf', Buffer.from('4d4d002a00000008000101120003000000010006000000000000', 'hex'))))
    expect(await strip(png(chunk('eXIf', exif(1, order))))).toEqual(png())
    expect(await strip(png(chunk('eXIf', 'nonsense')))).toEqual(png())
  })

  it.each([
    ['a chunk twice', png(chunk('gAMA', 'x'), chunk('gAMA', 'x')), 'has more than one PNG chunk gAMA'],
    [
      'a large one',
      png(chunk('PLTE', Buffer.alloc(769))),
      'has a PNG chunk PLTE of 769 bytes; at most 768 are allowed',
    ],
    ['too many', png(...Array.from({ length: 50_001 }, () => chunk('tEXt'))), 'has more than 50000 PNG chunks'],
    ['no end', png().subarray(0, -12), 'is broken or incomplete'],
    ['nothing', signature, 'is broken or incomplete'],
  ])('refuses %s', async (_what, bytes, reason) => {
    await expect(strip(bytes)).rejects.toMatchObject({ code: 'invalid', fields: { reason } })
  })
})

describe('of a JPEG', () => {
  it('keeps frames, tables, colors and scans', async () => {
    const kept = [
      segment(0xe0, 'JFIF\0rest'),
      segment(0xe2, 'ICC_PROFILE\0rest'),
      segment(0xee, 'Adobe rest'),
      ...[0xc0, 0xc4, 0xdb, 0xdd].map((marker) => segment(marker, 'table')),
      scan,
    ]
    expect(await strip(jpeg(...kept))).toEqual(jpeg(...kept))
  })

  it('drops comments, thumbnails, data of cameras and programs, and what follows the end', async () => {
    const others = [
      segment(0xfe, 'comment'),
      segment(0xe0, 'JFXX\0thumbnail'),
      segment(0xe1, 'http://ns.adobe.com/xap/1.0/\0<xmp>'),
      segment(0xe2, 'MPF\0other pictures'),
      segment(0xed, 'Photoshop 3.0\0'),
      // Fill bytes, and bytes that don't belong there.
      Buffer.from([0xff, 0xff]),
    ]
    expect(await strip(Buffer.concat([jpeg(...others), Buffer.from('a film')]))).toEqual(jpeg())
  })

  it.each(['II', 'MM'] as const)('keeps of EXIF data (%s) the orientation alone', async (order) => {
    const camera = Buffer.concat([Buffer.from('Exif\0\0'), exif(8, order)])
    const kept = await strip(jpeg(segment(0xe1, camera)))
    const only = Buffer.from('4d4d002a00000008000101120003000000010008000000000000', 'hex')
    expect(kept).toEqual(jpeg(segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), only]))))
  })

  it.each([
    ['no end', jpeg().subarray(0, -2)],
    ['a cut marker', jpeg().subarray(0, -1)],
    ['a cut segment', jpeg().subarray(0, 8)],
    ['a segment shorter than its length', Buffer.from([0xff, 0xd8, 0xff, 0xdb, 0, 1])],
  ])('refuses %s', async (_what, bytes) => {
    await expect(strip(bytes)).rejects.toMatchObject({ fields: { reason: 'is broken or incomplete' } })
  })

  it('refuses too many segments', async () => {
    const reason = 'has more than 10000 JPEG segments'
    const many = jpeg(...Array.from({ length: 10_001 }, () => segment(0xfe, '')))
    await expect(strip(many)).rejects.toMatchObject({ fields: { reason } })
  })
})

it('leaves the same however the stream is cut', async () => {
  const others = [segment(0xfe, 'comment'), segment(0xe1, 'Exif\0\0II*\0'), scan, segment(0xc4, 'table')]
  const files = [png(chunk('tEXt', 'x'), chunk('eXIf', exif(3, 'MM'))), jpeg(...others)]
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), fc.array(fc.nat(400), { maxLength: 30 }), async (bytes, cuts) => {
      expect(await strip(bytes, cuts)).toEqual(await strip(bytes))
    }),
  )
})

it('refuses or shortens any bytes, and never fails otherwise', async () => {
  const starts = [signature, Buffer.concat([signature, head]), Buffer.from('ffd8ff', 'hex'), Buffer.alloc(0)]
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 300 }), async (start, rest) => {
      const bytes = Buffer.concat([start, rest])
      const kept = await strip(bytes).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'invalid' })
        return Buffer.alloc(0)
      })
      expect(kept.length).toBeLessThanOrEqual(bytes.length + 26)
    }),
  )
})
