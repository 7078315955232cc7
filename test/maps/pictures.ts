import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { stripImage } from '../../src/platform/images/strip-image.ts'
import { type FormPart, encodeForm } from '../support/contract/forms.ts'
import type { Answer, TestOrg, TestServer } from '../support/servers/server.ts'

/** Creates an image of one color; a PNG or JPEG without anything that the server would strip. */
export async function picture(
  width: number,
  height: number,
  { format = 'png', grey = 200 }: { readonly format?: 'png' | 'jpeg' | 'gif' | 'webp'; readonly grey?: number } = {},
): Promise<Buffer> {
  const background = { r: grey, g: grey, b: grey }
  const bytes = await sharp({ create: { width, height, channels: 3, background } })
    .toFormat(format)
    .toBuffer()
  return format === 'png' || format === 'jpeg' ? buffer(stripImage(Readable.from([bytes]))) : bytes
}

/** Creates a PNG of random pixels, three bytes each, which can't be compressed. */
export function noise(side: number): Promise<Buffer> {
  const raw = { width: side, height: side, channels: 3 } as const
  return sharp(randomBytes(side * side * 3), { raw })
    .png()
    .toBuffer()
}

/** Creates a PNG file that declares this size and contains almost nothing. */
export function hollowPng(width: number, height: number): Buffer {
  // The format has eight bits per sample, in red, green and blue.
  return pngOf([header(width, height, [8, 2, 0, 0, 0]), hollow])
}

/** Like hollowPng(), with sixteen bits per sample, transparency and interlacing. */
export function interlacedPng(width: number, height: number): Buffer {
  return pngOf([header(width, height, [16, 6, 0, 0, 1]), hollow])
}

/**
 * Creates a PNG of eight by eight pixels with 20 compressed texts of 50 MB each; the file is smaller than a megabyte.
 */
export function pngWithTexts(): Buffer {
  const text = deflateSync(Buffer.alloc(50_000_000, 'A'), { level: 9 })
  const chunk = pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), text]))
  return pngOf([header(8, 8, [8, 2, 0, 0, 0]), ...Array.from({ length: 20 }, () => chunk), hollow])
}

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, crc])
}

const hollow = pngChunk('IDAT', deflateSync(Buffer.alloc(1000)))

/** @param format Bits per sample, color type, compression, filter, interlacing. */
function header(width: number, height: number, format: readonly number[]): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data.set(format, 8)
  return pngChunk('IHDR', data)
}

function pngOf(chunks: readonly Buffer[]): Buffer {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, ...chunks, pngChunk('IEND', Buffer.alloc(0))])
}

/** A text or a file. */
export type Part = string | { readonly bytes: Uint8Array | string; readonly type?: string; readonly name?: string }

/** Calls an operation that accepts a form, as the clients do. */
export async function postForm(
  server: TestServer,
  path: string,
  parts: Readonly<Record<string, Part>>,
  as: TestOrg = server.org,
): Promise<Answer> {
  const encoded = Object.entries(parts).map(([field, part]) => [field, fileOf(part)] as const)
  return server.call('POST', path, { as, ...(await encodeForm(Object.fromEntries(encoded))) })
}

function fileOf(part: Part): string | FormPart {
  if (typeof part === 'string') return part
  const { bytes, type = 'application/octet-stream', name = 'file.bin' } = part
  return { name, type, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes }
}
