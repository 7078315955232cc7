import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { ImagePlace } from '../firmware.ts'
import { listFileFacts } from './store-files.ts'

export interface MovedImage {
  /** Null: none was left. */
  readonly id: string | null
  readonly left: number
}

/**
 * Moves one image from the data folder to the object store. The object is complete before the file is removed, so a
 * crash leaves one of the two or both, and devices download from either.
 * @throws AppError conflict without an object store; unavailable if it fails.
 */
export async function moveNextImage({ db }: Pick<Context, 'db'>, { dir, objects }: ImagePlace): Promise<MovedImage> {
  if (objects === undefined)
    throw new AppError('conflict', 'Images are stored in the data folder: SIGNALBOX_S3_BUCKET is not set')
  const [next, ...others] = await listFileFacts(db, await readdir(dir))
  if (next === undefined) return { id: null, left: 0 }
  const { id, ...facts } = next
  await objects.put(id, { path: join(dir, id), ...facts })
  await rm(join(dir, id), { force: true })
  return { id, left: others.length }
}
