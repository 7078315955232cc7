import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { ImagePlace } from '../firmware.ts'
import type { ByteRange } from './range.ts'
import type { SharedFile, SharedFiles } from './shared-files.ts'

/** A part of an image that is being read, in order. */
export interface ImageSource {
  /** Returns the next `length` bytes, or fewer; don't change them. @throws Error if the image ends too early. */
  read(length: number): Promise<Buffer>
  /** May be called again. */
  close(): Promise<void>
}

export interface ImageSources extends ImagePlace {
  /** Opens the files of `dir`. */
  readonly shared: SharedFiles
}

/**
 * Opens a part of an image, in the object store or, where that does not have it, in the data folder. The caller closes
 * it.
 * @throws Error ENOENT where it is missing; AppError unavailable.
 */
export async function openImage(
  { dir, objects, shared }: ImageSources,
  imageId: string,
  range: ByteRange,
): Promise<ImageSource> {
  const stream = (await objects?.open(imageId, range)) ?? null
  if (objects !== undefined && stream !== null) return objectSource({ objects, imageId, range }, stream)
  return fileSource(await shared.open(join(dir, imageId)), range.start)
}

function fileSource(file: SharedFile, start: number): ImageSource {
  let position = start
  return {
    async read(length) {
      const piece = await file.read(position, length)
      if (piece.length === 0) throw tooShort()
      position += piece.length
      return piece
    },
    close: () => file.close(),
  }
}

interface ObjectPart {
  readonly objects: ObjectStore
  readonly imageId: string
  readonly range: ByteRange
}

/** How often a connection to the store may break without delivering any bytes. */
const MAX_BROKEN = 3

/** Continues over a new connection if the store closes one: a device may read for many minutes. */
function objectSource({ objects, imageId, range }: ObjectPart, first: Readable): ImageSource {
  let current = pieces(first)
  let position = range.start
  let broken = 0
  let isClosed = false
  return {
    async read(length) {
      for (;;) {
        const piece = await current.next(length)
        if (piece !== null) {
          position += piece.length
          broken = 0
          return piece
        }
        current.close()
        if (isClosed) throw closedEarly()
        broken += 1
        const next = broken > MAX_BROKEN ? null : await objects.open(imageId, { start: position, end: range.end })
        if (next === null) throw tooShort()
        current = pieces(next)
        // No other code closes a stream that was opened while the source was being closed.
        if (isClosed) current.close()
      }
    },
    async close() {
      isClosed = true
      current.close()
    },
  }
}

interface Pieces {
  /** Returns `length` bytes, fewer at the end, and null if there are none because the stream has ended or failed. */
  next(length: number): Promise<Buffer | null>
  close(): void
}

function pieces(stream: Readable): Pieces {
  const chunks: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: true })
  let rest: Buffer = Buffer.alloc(0)
  // An error between two reads is found by the second.
  stream.on('error', () => undefined)
  return {
    async next(length) {
      while (rest.length < length) {
        const chunk = await chunks.next().catch(() => null)
        if (chunk === null || chunk.done === true) break
        rest = rest.length === 0 ? chunk.value : Buffer.concat([rest, chunk.value])
      }
      const piece = rest.subarray(0, length)
      rest = rest.subarray(piece.length)
      return piece.length === 0 ? null : piece
    },
    close() {
      stream.destroy()
    },
  }
}

function closedEarly(): Error {
  return new Error('The download ended before its image was read')
}

function tooShort(): Error {
  return new Error('the file of a firmware image is shorter than its row says')
}
