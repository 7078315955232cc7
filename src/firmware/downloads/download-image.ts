import { Readable } from 'node:stream'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { DownloadLimits } from './download-limits.ts'
import type { DownloadRecords } from './download-records.ts'
import type { DownloadTicket } from './download-url.ts'
import { type ImageSource, type ImageSources, openImage } from './image-source.ts'
import type { ByteRange } from './range.ts'
import type { PaceLane, SitePace } from './site-pace.ts'
import type { TicketImage } from './store-downloads.ts'

const CHUNK_BYTES = 64 * 1024
/** Smaller where devices take turns, so that each one gets something soon. */
const PACED_CHUNK_BYTES = 16 * 1024
/** A download counts as stalled after 15 s, so this is often enough. */
const TOUCH_MS = 5000

/**
 * Returns a file name for `Content-Disposition`: `VERSION.bin`. Devices that can't read the version from the image take
 * it from there.
 */
export function nameImageFile({ version }: TicketImage, { imageId }: DownloadTicket): string {
  const name = encodeURIComponent(`${version ?? imageId}.bin`).replaceAll(/['()*]/g, percentEncode)
  return `attachment; filename*=UTF-8''${name}`
}

/** Encodes characters that RFC 8187 reserves and `encodeURIComponent` leaves. */
function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

export interface DownloadPart {
  readonly files: ImageSources
  readonly ticket: DownloadTicket
  readonly range: ByteRange
  /** The whole image. */
  readonly image: TicketImage
  readonly records: DownloadRecords
  readonly pace: SitePace
  readonly limits: Pick<DownloadLimits, 'siteBytesPerS' | 'slowChunkMs'>
  /** Called every few seconds while the limit of the site delays the response: nothing moves on its connection then. */
  readonly onDelay: () => void
}

/**
 * Starts to send a part of an image to a device. The image's last byte is sent only after `delivered_at` has been
 * committed, and never once the download is fenced. So a device whose download was fenced before delivery does not have
 * the image, however it combines its requests (see store-downloads.ts).
 * @returns A stream of exactly the range; it fails early when the download is fenced.
 * @throws AppError forbidden if the download is already fenced; unavailable if the file is missing.
 */
export async function downloadImage(ctx: Context, part: DownloadPart): Promise<Readable> {
  const { files, ticket, range, records } = part
  const source = await openImage(files, ticket.imageId, range).catch((error: unknown) => {
    noteStoreFailure(ctx, error)
    if (error instanceof AppError) throw error
    ctx.log.error({ err: error, imageId: ticket.imageId }, 'the file of a firmware image is missing')
    throw new AppError('unavailable', 'This image is not readable at the moment')
  })
  try {
    if (!(await records.start(ticket))) throw fenced()
  } catch (error) {
    await source.close()
    throw error
  }
  // Commands without a site share the bandwidth of their organization.
  const lane = part.pace.open(part.image.siteId ?? ticket.orgId, ticket.commandId)
  const slow = createWatch(part.limits.slowChunkMs, () => body.destroy())
  const chunks = partOf(ctx, part, { source, lane, slow })
  const body: Readable = Readable.from(chunks, { objectMode: false, highWaterMark: CHUNK_BYTES })
  // A generator that never received a request for a chunk does not run its `finally`, so the stream closes the image.
  body.once('close', () => {
    slow.end()
    lane.close()
    void source.close()
  })
  return body
}

/** While the object store does not work, a download that fails costs its device no attempt. */
function noteStoreFailure({ crowding }: Context, error: unknown): void {
  if (error instanceof AppError) crowding.note()
}

interface Flow {
  readonly source: ImageSource
  readonly lane: PaceLane
  /** Runs while the device takes a chunk. */
  readonly slow: Watch
}

/** Reads only as much as the socket accepts: the stream requests a chunk when it has room. */
async function* partOf(
  ctx: Context,
  { ticket, range, image, records, limits, onDelay }: DownloadPart,
  { source, lane, slow }: Flow,
): AsyncGenerator<Buffer> {
  const { orgId, commandId } = ticket
  const chunkBytes = limits.siteBytesPerS === null ? CHUNK_BYTES : PACED_CHUNK_BYTES
  let touchedMs = ctx.serviceClock.nowMs()
  let untouchedBytes = 0
  for (let position = range.start; position <= range.end;) {
    // Chunks are aligned, because a read ends with a block of the file: the limit counts what is sent.
    const length = Math.min(chunkBytes - (position % chunkBytes), range.end - position + 1)
    const turn = lane.take(length)
    while ((await withinTick(turn)) === 'later') {
      onDelay()
      if (!(await records.touch({ orgId, commandId, bytes: 0, last: false }))) throw fenced()
    }
    if (!(await turn)) return
    const chunk = await source.read(length).catch((error: unknown) => {
      noteStoreFailure(ctx, error)
      throw error
    })
    position += chunk.length
    untouchedBytes += chunk.length
    const nowMs = ctx.serviceClock.nowMs()
    if (position > range.end || nowMs - touchedMs >= TOUCH_MS) {
      const progress = { orgId, commandId, bytes: untouchedBytes, last: position === image.sizeBytes }
      if (!(await records.touch(progress))) throw fenced()
      touchedMs = nowMs
      untouchedBytes = 0
    }
    slow.start()
    yield chunk
    slow.end()
  }
}

/** Resolves with `later` if the turn takes so long that the download must be seen to be alive. */
async function withinTick(turn: Promise<boolean>): Promise<'now' | 'later'> {
  let timer: NodeJS.Timeout | undefined
  const later = new Promise<'later'>((resolve) => (timer = setTimeout(() => resolve('later'), TOUCH_MS)))
  try {
    return await Promise.race([turn.then(() => 'now' as const), later])
  } finally {
    clearTimeout(timer)
  }
}

interface Watch {
  start(): void
  end(): void
}

/** Calls `onLate` if the time from start to end is longer than `ms`. */
function createWatch(ms: number, onLate: () => void): Watch {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      clearTimeout(timer)
      timer = setTimeout(onLate, ms)
    },
    end() {
      clearTimeout(timer)
    },
  }
}

function fenced(): AppError {
  return new AppError('forbidden', 'This download has been cancelled')
}
