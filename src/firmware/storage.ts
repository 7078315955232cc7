import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import type { Task } from '../platform/jobs.ts'
import { openUpload } from '../platform/storage/open-upload.ts'
import type { Reservation } from '../platform/storage/upload-quota.ts'
import type { FirmwareFiles } from './firmware.ts'
import { filterKnownImageIds } from './store-files.ts'

/** Uploads that are not complete yet; nothing in it outlives the process. */
const INCOMING = 'incoming'

/** An upload that lies complete and synced in the folder of incoming files. */
export interface ReceivedFile {
  readonly path: string
  readonly sha256: string
  readonly sizeBytes: number
}

/** Makes the folders and removes what a crash left behind: half uploads, and files that no image owns. */
export async function sweepFirmwareFiles(
  ctx: Pick<Context, 'db' | 'log'>,
  { dir }: Pick<FirmwareFiles, 'dir'>,
): Promise<void> {
  const incoming = join(dir, INCOMING)
  await rm(incoming, { recursive: true, force: true })
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  await removeOwnerlessFiles(ctx, { dir, writtenBefore: null })
}

/** An upload gets its name before its image is committed: files that are younger may have one soon. */
const SETTLED_MS = 3600e3

/** The chore that removes the files of images that went with their organizations. */
export function firmwareTasks(ctx: Pick<Context, 'db' | 'log' | 'clock'>, { dir }: Pick<FirmwareFiles, 'dir'>): Task[] {
  const run = () => removeOwnerlessFiles(ctx, { dir, writtenBefore: addMs(ctx.clock.now(), -SETTLED_MS) })
  return [{ name: 'firmware_files', cron: '40 * * * *', run }]
}

async function removeOwnerlessFiles(
  ctx: Pick<Context, 'db' | 'log'>,
  { dir, writtenBefore }: { readonly dir: string; readonly writtenBefore: Date | null },
): Promise<void> {
  const names = (await readdir(dir)).filter((name) => isImageId(name))
  const known = await filterKnownImageIds(ctx.db, names)
  for (const name of names.filter((name) => !known.has(name))) {
    const path = join(dir, name)
    if (writtenBefore !== null && (await stat(path)).mtime >= writtenBefore) continue
    ctx.log.info({ imageId: name }, 'removed a firmware file that no image owns')
    await rm(path, { force: true })
  }
}

function isImageId(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(name)
}

/**
 * Streams an upload to disk and hashes it on the way; a chunk at a time is in memory. The file is
 * synced when this returns, and gone when it throws.
 * @throws AppError too_large, invalid (empty, or the client went away), unavailable (disk full), as Reservation.add().
 */
export async function receiveFile(
  { dir, maxBytes }: FirmwareFiles,
  body: Readable,
  reservation: Reservation,
): Promise<ReceivedFile> {
  const path = join(dir, INCOMING, `${randomUUID()}.part`)
  const hash = createHash('sha256')
  let sizeBytes = 0
  async function* measured(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
      await reservation.add(chunk.length)
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    await pipeline(body, measured, await openUpload(path, { flush: true }))
    if (sizeBytes === 0) throw new AppError('invalid', 'The body is empty: send the image as it is.')
  } catch (error) {
    await discardFile({ path })
    throw receiveError(error)
  }
  return { path, sha256: hash.digest('hex'), sizeBytes }
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('too_large', `An image may have at most ${maxBytes} bytes.`)
}

const clientWentAway = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'])
const diskIsFull = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

function receiveError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (clientWentAway.has(code)) return new AppError('invalid', 'The upload ended before the image was complete.')
  if (diskIsFull.has(code)) return new AppError('unavailable', 'There is no space left for this image.')
  return error
}

/** Makes a received file the file of an image: after this a power cut leaves it whole, under its name. */
export async function keepFile(
  { dir }: Pick<FirmwareFiles, 'dir'>,
  received: ReceivedFile,
  imageId: string,
): Promise<void> {
  await rename(received.path, join(dir, imageId))
  // A rename is durable once its folder is.
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export async function discardFile(received: Pick<ReceivedFile, 'path'>): Promise<void> {
  await rm(received.path, { force: true })
}

/** Downloads that have the file open go on to their end. */
export async function removeImageFile({ dir }: Pick<FirmwareFiles, 'dir'>, imageId: string): Promise<void> {
  await rm(join(dir, imageId), { force: true })
}

/** The caller closes it. @throws Error ENOENT where the file is missing. */
export function openImageFile({ dir }: Pick<FirmwareFiles, 'dir'>, imageId: string): Promise<FileHandle> {
  return open(join(dir, imageId), 'r')
}
