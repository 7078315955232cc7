import { open } from 'node:fs/promises'
import type { Metadata, Sharp } from 'sharp'
import { AppError } from '../errors.ts'
import { limitConcurrency } from '../limit-concurrency.ts'

export type ImageType = 'image/png' | 'image/jpeg'

export interface DecodedImage {
  readonly contentType: ImageType
  /** As it is shown: a photo that its camera has marked as turned is turned. */
  readonly width: number
  readonly height: number
}

/** A plan of A0 at 150 dpi has 35 million. */
const MAX_PIXELS = 50_000_000
/** What comes in passes has to be held whole: four bytes for each of the pixels. */
const MAX_HELD_BYTES = 200_000_000
const DECODE_WITHIN_S = 30
/** A decoder's memory is bounded by what it holds, so theirs together by their number. */
const decoding = limitConcurrency({ running: 2, waiting: 50, refusal: 'Too many images at once, try again soon.' })

/**
 * What the picture in a file is, by its bytes alone. Every line of it is decoded: one that is cut or
 * broken further down is found here and not by whoever wants to see it.
 * @throws AppError invalid.
 */
export async function decodeImage(path: string, declaredType: string | null): Promise<DecodedImage> {
  const contentType = await sniff(path)
  const declared = declaredType?.split(';', 1)[0]?.trim().toLowerCase().replace('image/jpg', 'image/jpeg') ?? ''
  if (declared.startsWith('image/') && declared !== contentType)
    throw new AppError('invalid', `The image is ${contentType}, not ${declared} as the upload says.`)
  return decoding(async () => {
    const picture = await pictureAt(path)
    try {
      const metadata = await picture.metadata()
      if (heldBytes(metadata) > MAX_HELD_BYTES) throw tooManyPasses()
      const { autoOrient } = metadata
      await picture.timeout({ seconds: DECODE_WITHIN_S }).resize(16, 16, { fit: 'inside' }).raw().toBuffer()
      return { contentType, width: autoOrient.width, height: autoOrient.height }
    } catch (error) {
      throw refusal(error)
    }
  })
}

/** Writes a copy with sides of at most `side`, without what a camera knows of place and time. */
export async function shrink(
  source: string,
  { path, contentType, side }: { readonly path: string; readonly contentType: ImageType; readonly side: number },
): Promise<{ readonly width: number; readonly height: number; readonly sizeBytes: number }> {
  return decoding(async () => {
    const picture = await pictureAt(source)
    const small = picture
      .timeout({ seconds: DECODE_WITHIN_S })
      .autoOrient()
      .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    const { width, height, size } = await small.toFormat(contentType === 'image/png' ? 'png' : 'jpeg').toFile(path)
    return { width, height, sizeBytes: size }
  })
}

/** Samples of an interlaced PNG as they are; of a progressive JPEG two bytes each, fewer of colours than of light. */
function heldBytes({ width, height, channels, depth, format, isProgressive, chromaSubsampling }: Metadata): number {
  if (!isProgressive) return 0
  const samples = width * height * (format === 'jpeg' && chromaSubsampling === '4:2:0' ? channels / 2 : channels)
  return format === 'jpeg' || depth === 'ushort' ? samples * 2 : samples
}

function tooManyPasses(): AppError {
  return new AppError('invalid', 'The image is too large to be interlaced or progressive: save it without.')
}

/** The decoder is loaded for the first picture: it takes ten megabytes that most starts can do without. */
async function pictureAt(path: string): Promise<Sharp> {
  const { default: sharp } = await import('sharp')
  // Files are decoded once, and under names of their own: nothing would ever be found in a cache.
  sharp.cache(false)
  return sharp(path, { limitInputPixels: MAX_PIXELS, sequentialRead: true, failOn: 'error' })
}

const signatures: readonly { readonly type: ImageType; readonly bytes: readonly number[] }[] = [
  { type: 'image/png', bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: 'image/jpeg', bytes: [0xff, 0xd8, 0xff] },
]

/** Before the decoder sees it: it knows more formats than we want to be attacked by. */
async function sniff(path: string): Promise<ImageType> {
  const file = await open(path, 'r')
  try {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0)
    const found = signatures.find(({ bytes }) => bytes.every((byte, index) => buffer[index] === byte))
    if (found === undefined) throw new AppError('invalid', 'The image is neither PNG nor JPEG.')
    return found.type
  } finally {
    await file.close()
  }
}

/** The file could be read, so what the decoder says is about the picture in it. */
function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error
  const why = error instanceof Error ? error.message : String(error)
  return /pixel limit/.test(why)
    ? new AppError('invalid', `The image has more than ${MAX_PIXELS} pixels.`)
    : new AppError('invalid', 'The image is broken or incomplete.')
}
