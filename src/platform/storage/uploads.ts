import { randomUUID } from 'node:crypto'
import { type FileHandle, open, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../errors.ts'
import { OWNER_ONLY, whenDiskIsFree } from './files.ts'
import type { Reservation } from './upload-quota.ts'

/** Files that are not stored yet; nothing in it outlives the process. */
const INCOMING = 'incoming'

/** The most that an upload leaves to be written through to the disk at a time. */
const STEP_BYTES = 1024 * 1024

/** Removes partial uploads of an earlier process, before the first upload can arrive. */
export async function emptyIncoming(dir: string): Promise<void> {
  const incoming = join(dir, INCOMING)
  await rm(incoming, { recursive: true, force: true })
  await mkdir(incoming, { recursive: true, mode: 0o700 })
}

/** Returns a new name in the folder of incoming files. */
export function newIncomingPath(dir: string): string {
  return join(dir, INCOMING, `${randomUUID()}.part`)
}

export interface Upload {
  readonly body: Readable
  readonly maxBytes: number
  readonly reservation: Reservation
  /** Selects the data to write; default all. */
  readonly filter?: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>
}

/** A file that nothing refers to yet. */
export interface UploadedFile {
  readonly path: string
  /** The size of the written data; the limit and the quota count the received data. */
  readonly sizeBytes: number
}

/**
 * Streams an upload to a new file, one chunk in memory at a time. The file is removed when this throws; otherwise the
 * caller discards or stores it, and releases the reservation.
 * @throws AppError too_large; invalid (the client disconnected); unavailable (disk full); as Reservation.add(); errors
 *   of `filter`.
 */
export async function receiveUpload(
  dir: string,
  { body, maxBytes, reservation, filter }: Upload,
): Promise<UploadedFile> {
  // The pipeline sees an error that arrives before the file is open; this listener only keeps the process alive.
  body.once('error', () => undefined)
  const path = newIncomingPath(dir)
  const measured = (chunks: AsyncIterable<Buffer>) => measure(chunks, maxBytes, (bytes) => reservation.add(bytes))
  try {
    // A stream that opens its file by itself may do so after the pipeline has failed and the file was removed.
    const file = await open(path, 'wx', OWNER_ONLY)
    const write = (chunks: AsyncIterable<Buffer>): Promise<number> => writeInSteps(file, chunks)
    const sizeBytes = await pipeline(body, measured, filter ?? ((chunks) => chunks), write).finally(() => file.close())
    return { path, sizeBytes }
  } catch (error) {
    await discardUpload({ path })
    throw uploadError(error)
  }
}

/**
 * Reads an upload to its end and stores nothing.
 * @param onBytes As Reservation.add().
 * @throws AppError too_large; invalid (the client disconnected); errors of `onBytes`.
 */
export async function skipUpload(
  { body, maxBytes }: Pick<Upload, 'body' | 'maxBytes'>,
  onBytes: Reservation['add'],
): Promise<void> {
  try {
    const chunks = measure(body, maxBytes, onBytes)
    for (let next = await chunks.next(); next.done !== true;) next = await chunks.next()
  } catch (error) {
    throw uploadError(error)
  }
}

/** Passes the chunks of an upload on. */
async function* measure(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  onBytes: Reservation['add'],
): AsyncGenerator<Buffer> {
  let receivedBytes = 0
  for await (const chunk of chunks) {
    receivedBytes += chunk.length
    if (receivedBytes > maxBytes) throw uploadTooLarge(maxBytes)
    await onBytes(chunk.length)
    yield chunk
  }
}

/**
 * Writes a file through to the disk in steps: the commits of the database would otherwise wait behind all of it when it
 * is complete.
 * @returns Its size.
 */
async function writeInSteps(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let [sizeBytes, heldBytes] = [0, 0]
  for await (const chunk of chunks) {
    await file.appendFile(chunk)
    sizeBytes += chunk.length
    heldBytes += chunk.length
    if (heldBytes < STEP_BYTES) continue
    await whenDiskIsFree(() => file.datasync())
    heldBytes = 0
  }
  return sizeBytes
}

export async function discardUpload({ path }: Pick<UploadedFile, 'path'>): Promise<void> {
  await rm(path, { force: true })
}

export function uploadTooLarge(maxBytes: number): AppError {
  return new AppError('too_large', `The file may have at most ${maxBytes} bytes`)
}

const clientWentAway = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'])
const diskIsFull = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

function uploadError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (clientWentAway.has(code)) return new AppError('invalid', 'The upload ended before the file was complete')
  if (diskIsFull.has(code)) return new AppError('unavailable', 'No space is left for this file')
  return error
}
