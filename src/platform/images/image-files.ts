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
 * Pictures that people upload: of maps, and of installed devices. A row refers to its picture by the name of its file.
 * Order: `receiveImage` and `keepImage` before the transaction that writes the name; `removeImage` of a replaced name
 * after its commit. `sweepImages` removes at the next start the leftovers of a crash in between.
 */
export interface ImageFiles {
  /** Absolute path; one file per picture. */
  readonly dir: string
  /** Limit of one upload. */
  readonly maxBytes: number
  readonly decode: DecodeLimits
  readonly quota: UploadQuota
}

/** A picture while it arrives. */
export interface ImageUpload extends NewUpload {
  readonly body: Readable
  /** The type that the client declares; null if none. */
  readonly declaredType: string | null
}

/** A floor plan in print quality takes a tenth of it. */
export const DEFAULT_MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** A complete and decoded picture in the folder of incoming files. */
export interface ReceivedImage extends Pick<Decoded, 'contentType' | 'width' | 'height'> {
  /** The name that `keepImage` will give it: `UUID.png` or `UUID.jpg`. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  /** Reserves its room; `keepImageFor` and `discardImage` release it. */
  readonly reservation: Reservation
}

/** A file in the folder of incoming files; its receiver discards it. */
export type ReceivedFile = Pick<ReceivedImage, 'path' | 'sizeBytes' | 'reservation'>

const extensions: Readonly<Record<ImageType, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg' }

/** True if the file's name was given here. */
function isImageName(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.(png|jpg)$/.test(name)
}

export function typeOfImage(name: string): ImageType {
  return name.endsWith('.png') ? 'image/png' : 'image/jpeg'
}

/** Creates the folders and removes leftovers of a crash, before the first upload can arrive. */
export async function sweepImages(
  log: Logger,
  { dir }: Pick<ImageFiles, 'dir'>,
  filterKnown: FilterKnown,
): Promise<void> {
  await emptyIncoming(dir)
  await removeOrphanImages(log, { dir }, filterKnown, null)
}

/**
 * Removes pictures that no row refers to any more, because their owner was deleted, while others arrive.
 * @param before Later files stay: their rows may be about to be written.
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
 * Streams a picture to disk, without data that is not needed to show it (stripImage), then decodes it to its last line.
 * The file is removed when this throws.
 * @throws AppError too_large; unavailable (disk full); rate_limited; invalid for a file that is neither PNG nor JPEG,
 *   is cut or broken, has too many pixels, takes too much to decode, differs from its declared type, or exceeds the
 *   quota.
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
    throw invalidField('file', `is ${contentType}, not ${declared} as the upload declares`)
}

/**
 * Streams an upload of any kind to the folder of incoming files, where nothing outlives the process. The file is
 * removed when this throws; otherwise the caller discards it.
 * @throws AppError as receiveImage(), except for the content of the file.
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
 * Makes a smaller copy of a stored picture, to be stored under its own name; never larger than the picture.
 * @param side Pixels of the longer side, at most.
 * @throws AppError not_found if the picture no longer exists.
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

/** Moves a received picture to its final name. Afterwards a power loss leaves it complete there. */
export async function keepImage(
  { dir }: Pick<ImageFiles, 'dir'>,
  received: Pick<ReceivedImage, 'name' | 'path'>,
): Promise<void> {
  await moveWhole(received.path, join(dir, received.name))
}

/**
 * Stores a received picture and records its name by `write`, a transaction: the file is on disk, synced, before the row
 * that names it is committed, and a failure leaves neither.
 * @returns The result of `write`.
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
    // After any other error the commit may have happened: a sweep decides by the rows.
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

/** Readers that have it open continue to the end. */
export async function removeImage({ dir }: Pick<ImageFiles, 'dir'>, name: string): Promise<void> {
  await rm(join(dir, name), { force: true })
}

/** The caller closes it. @returns Null if there is none (any more). */
export async function openImage({ dir }: Pick<ImageFiles, 'dir'>, name: string): Promise<FileHandle | null> {
  return open(join(dir, name), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
