import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AppError, invalidField, notFound } from '../errors.ts'
import type { Logger } from '../log.ts'
import { type Upload, discardUpload, emptyIncoming, newIncomingPath, receiveUpload } from '../storage/uploads.ts'
import { decodeImage, shrinkImageFile } from './decode-image.ts'
import type { Decoded, ImageType } from './decoder-job.ts'
import { moveWhole } from '../storage/files.ts'
import { type FilterKnown, removeOrphans } from '../storage/orphans.ts'
import type { NewUpload, Reservation, UploadQuota } from '../storage/upload-quota.ts'
import type { DecodeLimits } from './decoder-limits.ts'
import { stripImage } from './strip-image.ts'

/**
 * Pictures that people upload: of maps, and of devices where they hang.
 *
 * A row names its picture by the name of its file. Order: `receiveImage` and `keepImage` before the
 * transaction that writes the name, `removeImage` of a name that was replaced after its commit. What a
 * crash leaves in between, `sweepImages` removes at the next start.
 */
export interface ImageFiles {
  /** Absolute path; one file a picture. */
  readonly dir: string
  /** Of one upload. */
  readonly maxBytes: number
  readonly decode: DecodeLimits
  readonly quota: UploadQuota
}

/** A picture while it arrives. */
export interface ImageUpload extends NewUpload {
  readonly body: Readable
  /** What the client says it is; null where it says nothing. */
  readonly declaredType: string | null
}

/** A plan of a floor in print quality has a tenth of it. */
export const DEFAULT_MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** A picture that lies complete and decoded in the folder of incoming files. */
export interface ReceivedImage extends Pick<Decoded, 'contentType' | 'width' | 'height'> {
  /** What `keepImage` will call it: `UUID.png` or `UUID.jpg`. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  /** Of its room; `keepImageFor` and `discardImage` release it. */
  readonly reservation: Reservation
}

/** A file in the folder of incoming files, to be discarded by whoever received it. */
export type ReceivedFile = Pick<ReceivedImage, 'path' | 'sizeBytes' | 'reservation'>

const extensions: Readonly<Record<ImageType, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg' }

/** Whether a file's name is one that was given here. */
export function isImageName(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.(png|jpg)$/.test(name)
}

export function typeOfImage(name: string): ImageType {
  return name.endsWith('.png') ? 'image/png' : 'image/jpeg'
}

/** Makes the folders and removes what a crash left behind; before the first upload can come. */
export async function sweepImages(
  log: Logger,
  { dir }: Pick<ImageFiles, 'dir'>,
  filterKnown: FilterKnown,
): Promise<void> {
  await emptyIncoming(dir)
  await removeOrphanImages(log, { dir }, filterKnown, null)
}

/**
 * Removes pictures that nothing refers to any more, because what they were of went with something else,
 * while others come.
 * @param before Files of a later time are left alone: their rows may be about to be written.
 */
export async function removeOrphanImages(
  log: Logger,
  { dir }: Pick<ImageFiles, 'dir'>,
  filterKnown: FilterKnown,
  before: Date | null,
): Promise<void> {
  await removeOrphans(log, dir, { isName: isImageName, filterKnown, before, what: 'picture' })
}

/**
 * Streams a picture to disk, without what it does not need to be shown (stripImage), then decodes it to its last
 * line. The file is gone when this throws.
 * @throws AppError too_large, unavailable (disk full), rate_limited, invalid for what is neither PNG nor JPEG, is cut
 *   or broken, has too many pixels, takes too much to decode, lies about its type, or finds no room in the quota.
 */
export async function receiveImage(files: ImageFiles, upload: ImageUpload): Promise<ReceivedImage> {
  const received = await receiveStream(files, upload, stripImage)
  try {
    const { contentType, width, height } = await decodeImage(received.path, files.decode)
    assertDeclared(upload.declaredType, contentType)
    return { ...received, contentType, width, height, name: `${randomUUID()}.${extensions[contentType]}` }
  } catch (error) {
    await discardImage(received)
    throw error
  }
}

function assertDeclared(declaredType: string | null, contentType: ImageType): void {
  const declared = declaredType?.split(';', 1)[0]?.trim().toLowerCase().replace('image/jpg', 'image/jpeg') ?? ''
  if (declared.startsWith('image/') && declared !== contentType)
    throw invalidField('file', `is ${contentType}, not ${declared} as the upload says`)
}

/**
 * Streams an upload of any kind to the folder of incoming files, where nothing outlives the process. The
 * file is gone when this throws; otherwise the caller discards it.
 * @throws AppError as receiveImage, but for what is in the file.
 */
export async function receiveFile(
  files: Pick<ImageFiles, 'dir' | 'maxBytes' | 'quota'>,
  upload: Omit<ImageUpload, 'declaredType'>,
): Promise<ReceivedFile> {
  return receiveStream(files, upload)
}

async function receiveStream(
  { dir, maxBytes, quota }: Pick<ImageFiles, 'dir' | 'maxBytes' | 'quota'>,
  { body, ...upload }: Omit<ImageUpload, 'declaredType'>,
  filter?: Upload['filter'],
): Promise<ReceivedFile> {
  const reservation = await quota.reserve(upload)
  try {
    const received = await receiveUpload(dir, { body, maxBytes, reservation, ...(filter && { filter }) })
    return { ...received, reservation }
  } catch (error) {
    reservation.release()
    throw error
  }
}

/**
 * A smaller copy of a kept picture, to be kept under its own name; not larger than the picture is.
 * @param side Pixels of the longer side, at most.
 * @throws AppError not_found where the picture is gone by now.
 */
export async function shrinkImage(
  { dir, decode }: Pick<ImageFiles, 'dir' | 'decode'>,
  name: string,
  side: number,
): Promise<Omit<ReceivedImage, 'reservation'>> {
  const path = newIncomingPath(dir)
  const contentType = typeOfImage(name)
  const source = await openImage({ dir }, name)
  if (source === null) throw notFound(name)
  await source.close()
  try {
    const { width, height, copyBytes } = await shrinkImageFile(join(dir, name), { path, side }, decode)
    return {
      contentType,
      width,
      height,
      name: `${randomUUID()}.${extensions[contentType]}`,
      path,
      sizeBytes: copyBytes,
    }
  } catch (error) {
    await discardImage({ path })
    throw error
  }
}

/** Puts a received picture under its name: after this a power cut leaves it whole. */
export async function keepImage(
  { dir }: Pick<ImageFiles, 'dir'>,
  received: Pick<ReceivedImage, 'name' | 'path'>,
): Promise<void> {
  await moveWhole(received.path, join(dir, received.name))
}

/**
 * Keeps a received picture and names it by `write`, a transaction: the file is on disk, synced, before the
 * row that names it is committed, and a failure leaves neither.
 * @returns What `write` does.
 */
export async function keepImageFor<T>(
  files: Pick<ImageFiles, 'dir'>,
  received: Pick<ReceivedImage, 'name' | 'path' | 'reservation'>,
  write: () => Promise<T>,
): Promise<T> {
  try {
    await keepImage(files, received)
  } catch (error) {
    await discardImage(received)
    throw error
  }
  try {
    return await write()
  } catch (error) {
    // Of another error we can't tell whether it committed: then a sweep decides by the rows.
    if (error instanceof AppError) await removeImage(files, received.name)
    throw error
  } finally {
    received.reservation.release()
  }
}

export async function discardImage({
  path,
  reservation,
}: Pick<ReceivedImage, 'path'> & Partial<Pick<ReceivedImage, 'reservation'>>): Promise<void> {
  await discardUpload({ path })
  reservation?.release()
}

/** Who has it open reads on to its end. */
export async function removeImage({ dir }: Pick<ImageFiles, 'dir'>, name: string): Promise<void> {
  await rm(join(dir, name), { force: true })
}

/** The caller closes it. @returns null where there is none (any more). */
export async function openImage({ dir }: Pick<ImageFiles, 'dir'>, name: string): Promise<FileHandle | null> {
  return open(join(dir, name), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
