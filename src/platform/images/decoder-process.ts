import sharp, { type Metadata, type Sharp } from 'sharp'
import type { Decoded, DecoderAnswer, DecoderJob, ImageType, Shrink } from './decoder-job.ts'
import { MAX_PIXELS, TOO_LARGE_EXIT_CODE, TOO_SLOW_EXIT_CODE } from './decoder-limits.ts'
import { messageOf } from '../message-of.ts'

/**
 * The program that decodes one picture and ends. The decoder works in its own threads, so this thread is free to watch
 * their use of memory and of the processor; Node does not limit allocations outside its heap.
 */
const WATCH_EVERY_MS = 10
/** The decoder holds pictures that arrive in passes as a whole: four bytes per pixel. */
const MAX_HELD_BYTES = 200_000_000

async function main(job: DecoderJob): Promise<void> {
  // The pipe closes when the starter ends, which ends with the server, for whatever reason.
  process.stdin.resume().once('close', () => process.exit(1))
  assertWithin(job)
  setInterval(() => assertWithin(job), WATCH_EVERY_MS)
  const answer = await decode(job)
  process.stdout.write(JSON.stringify(answer), () => process.exit(0))
}

function assertWithin({ memoryBytes, cpuMs }: DecoderJob): void {
  if (process.memoryUsage.rss() > memoryBytes) process.exit(TOO_LARGE_EXIT_CODE)
  const { user, system } = process.cpuUsage()
  if ((user + system) / 1000 > cpuMs) process.exit(TOO_SLOW_EXIT_CODE)
}

async function decode({ path, shrink }: DecoderJob): Promise<DecoderAnswer> {
  sharp.concurrency(1)
  const picture = sharp(path, { limitInputPixels: MAX_PIXELS, sequentialRead: true, failOn: 'error' })
  try {
    const metadata = await picture.metadata()
    if (heldBytes(metadata) > MAX_HELD_BYTES)
      return { kind: 'refused', why: 'is too large to be interlaced or progressive: save it without' }
    const contentType: ImageType = metadata.format === 'png' ? 'image/png' : 'image/jpeg'
    if (shrink !== null) return { kind: 'decoded', contentType, ...(await writeCopy(picture, contentType, shrink)) }
    // Decodes every line: a picture that is cut or broken further down is found here.
    await picture.resize(16, 16, { fit: 'inside' }).raw().toBuffer()
    const { width, height } = metadata.autoOrient
    return { kind: 'decoded', contentType, width, height, copyBytes: 0 }
  } catch (error) {
    return { kind: 'refused', why: whyNot(error) }
  }
}

async function writeCopy(
  picture: Sharp,
  contentType: ImageType,
  { path, side }: Shrink,
): Promise<Omit<Decoded, 'contentType'>> {
  const small = picture.autoOrient().resize(side, side, { fit: 'inside', withoutEnlargement: true })
  const { width, height, size } = await small.toFormat(contentType === 'image/png' ? 'png' : 'jpeg').toFile(path)
  return { width, height, copyBytes: size }
}

/**
 * Unconverted samples of an interlaced PNG; two bytes each of a progressive JPEG, with fewer for color than for light.
 */
function heldBytes({ width, height, channels, depth, format, isProgressive, chromaSubsampling }: Metadata): number {
  if (!isProgressive) return 0
  const samples = width * height * (format === 'jpeg' && chromaSubsampling === '4:2:0' ? channels / 2 : channels)
  return format === 'jpeg' || depth === 'ushort' ? samples * 2 : samples
}

/** The file can be read, so the decoder's error is about the picture in it. */
function whyNot(error: unknown): string {
  const why = messageOf(error)
  return /pixel limit/.test(why) ? `has more than ${MAX_PIXELS} pixels` : 'is broken or incomplete'
}

await main(JSON.parse(process.argv[2] ?? '') as DecoderJob) // decode-image.ts writes it.
