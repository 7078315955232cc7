import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { Task } from '../../platform/time/jobs.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { moveWhole } from '../../platform/storage/files.ts'
import { removeOrphans } from '../../platform/storage/orphans.ts'
import type { Reservation } from '../../platform/storage/upload-quota.ts'
import { type UploadedFile, discardUpload, emptyIncoming, receiveUpload } from '../../platform/storage/uploads.ts'
import type { FirmwareFiles, ImagePlace } from '../firmware.ts'
import { filterKnownImageIds } from './store-files.ts'

/** A complete upload in the folder of incoming files. */
export interface ReceivedFile extends UploadedFile {
  readonly sha256: string
}

/** Creates the folders and removes leftovers of a crash: partial uploads, and files without an image. */
export async function sweepFirmwareFiles(
  ctx: Pick<Context, 'db' | 'log'>,
  { dir }: Pick<FirmwareFiles, 'dir'>,
): Promise<void> {
  await emptyIncoming(dir)
  await removeOwnerlessFiles(ctx, dir, null)
}

/** An upload gets its name before its image is committed, so younger files may belong to an image soon. */
const SETTLED_MS = 3600e3

/** The chore that removes the files of images that were deleted with their organizations. */
export function firmwareTasks(ctx: Pick<Context, 'db' | 'log' | 'clock'>, { dir, objects }: ImagePlace): Task[] {
  const run = async () => {
    const before = addMs(ctx.clock.now(), -SETTLED_MS)
    await removeOwnerlessFiles(ctx, dir, before)
    if (objects !== undefined) await removeOwnerlessObjects(ctx, objects, before)
  }
  return [{ name: 'firmware_files', cron: '40 * * * *', run }]
}

function removeOwnerlessFiles(
  { db, log }: Pick<Context, 'db' | 'log'>,
  dir: string,
  before: Date | null,
): Promise<void> {
  const filterKnown = (names: readonly string[]) => filterKnownImageIds(db, names)
  return removeOrphans(log, dir, { isName: isImageId, filterKnown, before, what: 'firmware image' })
}

/** Objects of a crash are removed by the chore, not at the start, which does not wait for the store. */
async function removeOwnerlessObjects(
  { db, log }: Pick<Context, 'db' | 'log'>,
  objects: ObjectStore,
  before: Date,
): Promise<void> {
  for await (const page of objects.list()) {
    const settled = page.filter(({ name, modifiedAt }) => isImageId(name) && modifiedAt < before)
    const names = settled.map(({ name }) => name)
    const known = await filterKnownImageIds(db, names)
    for (const name of names.filter((one) => !known.has(one))) {
      log.info({ name }, 'removed a firmware image that nothing refers to from the object store')
      await objects.remove(name)
    }
  }
}

function isImageId(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(name)
}

/**
 * Streams an upload to disk and hashes it on the way.
 * @throws AppError invalid (empty); as receiveUpload().
 */
export async function receiveFile(
  { dir, maxBytes }: FirmwareFiles,
  body: Readable,
  reservation: Reservation,
): Promise<ReceivedFile> {
  const hash = createHash('sha256')
  async function* hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  const uploaded = await receiveUpload(dir, { body, maxBytes, reservation, filter: hashed })
  if (uploaded.sizeBytes > 0) return { ...uploaded, sha256: hash.digest('hex') }
  await discardUpload(uploaded)
  throw new AppError('invalid', 'The body is empty: send the image as it is')
}

/**
 * Moves a received file to its image's name. Afterwards a power loss leaves it complete there.
 * @throws AppError unavailable if the object store fails.
 */
export async function keepFile({ dir, objects }: ImagePlace, received: ReceivedFile, imageId: string): Promise<void> {
  if (objects === undefined) return moveWhole(received.path, join(dir, imageId))
  await objects.put(imageId, received)
  await rm(received.path, { force: true })
}

/**
 * Downloads that have the file open continue to their end. An object that can't be removed now is removed by the chore.
 */
export async function removeImageFile({ dir, objects }: ImagePlace, imageId: string): Promise<void> {
  await rm(join(dir, imageId), { force: true })
  // The store logs the reason.
  await objects?.remove(imageId).catch(() => undefined)
}
