import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { AppError } from '../platform/errors.ts'
import { type ImageFiles, keepImage, removeImage, shrinkImage } from '../platform/images/image-files.ts'
import { type BarePicture, listBarePictures, updateThumbnail } from './store-thumbnails.ts'

type ThumbnailFiles = Pick<ImageFiles, 'dir' | 'decode'>

/** Pixels of the longer side. */
const SIDE = 256
const BATCH = 20

/** Creates the missing thumbnails of map pictures until none is missing or `signal` aborts. */
export async function createThumbnails(ctx: Context, files: ThumbnailFiles, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const pictures = await listBarePictures(ctx.db, BATCH)
    if (pictures.length === 0) return
    for (const picture of pictures) {
      if (signal?.aborted === true) return
      await createThumbnail(ctx, files, picture)
    }
  }
}

async function createThumbnail(ctx: Context, files: ThumbnailFiles, picture: BarePicture): Promise<void> {
  const made = await shrinkImage(files, picture.image, SIDE).catch((error: unknown) => {
    // Too many pictures are being decoded, or the machine is too busy: a later run finds this one again.
    if (error instanceof AppError && ['rate_limited', 'unavailable'].includes(error.code)) throw error
    return error instanceof Error ? error : new Error(String(error))
  })
  if (made instanceof Error) {
    // This changes nothing if the picture has been replaced since.
    if (await inTx(ctx, (tx) => updateThumbnail(tx, picture, null)))
      ctx.log.warn({ err: made, image: picture.image }, 'no thumbnail can be made of a picture')
    return
  }
  await keepImage(files, made)
  if (!(await inTx(ctx, (tx) => updateThumbnail(tx, picture, made)))) await removeImage(files, made.name)
}
