import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { filterKnownDeviceImages } from '../devices/images/store.ts'
import { deviceImageSizes } from '../devices/images/store-sizes.ts'
import { filterKnownMapImages } from '../maps/store.ts'
import { mapImageSizes } from '../maps/store-sizes.ts'
import { filterKnownMxedgeImages } from '../mxedges/images/store.ts'
import { mxedgeImageSizes } from '../mxedges/images/store-sizes.ts'
import { addMs } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { type Db, inTx } from '../platform/database/db.ts'
import { type ImageFiles, removeOrphanImages } from '../platform/images/image-files.ts'
import type { ImageSizes } from '../platform/images/image-sizes.ts'
import type { Task } from '../platform/time/jobs.ts'

/** Returns those of the files in the folder of images that a row of any noun refers to. See sweepImages(). */
export async function filterKnownImages(db: Db, names: readonly string[]): Promise<ReadonlySet<string>> {
  const filters = [filterKnownDeviceImages, filterKnownMapImages, filterKnownMxedgeImages]
  const known = await Promise.all(filters.map((filter) => filter(db, names)))
  return new Set(known.flat())
}

const MEASURED_AT_ONCE = 1000

/** Each noun records the sizes of its pictures. */
const kindsOfImages: readonly ImageSizes[] = [deviceImageSizes, mxedgeImageSizes, mapImageSizes]

/**
 * Records the sizes of pictures that were stored before sizes were recorded, so that they count. A missing file stays
 * unmeasured.
 */
export async function measureImages(ctx: Context, { dir }: Pick<ImageFiles, 'dir'>): Promise<void> {
  const lists = await Promise.all(kindsOfImages.map(({ listUnmeasured }) => listUnmeasured(ctx.db)))
  const names = lists.flat()
  for (let start = 0; start < names.length; start += MEASURED_AT_ONCE) {
    const batch = names.slice(start, start + MEASURED_AT_ONCE)
    const sizes = await Promise.all(batch.map(async (name) => ({ name, bytes: await sizeOf(join(dir, name)) })))
    await inTx(ctx, async (tx) => {
      for (const { update } of kindsOfImages) await update(tx, sizes)
    })
  }
}

async function sizeOf(path: string): Promise<number> {
  const file = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return file?.size ?? 0
}

/** Longer than any upload takes from its file to its row. */
const ORPHANED_FOR_MS = 3600e3

/** The chores of pictures, for startJobs(): pictures of a deleted site, for example, have no row any more. */
export function imageTasks(ctx: Context, files: Pick<ImageFiles, 'dir'>): Task[] {
  return [
    {
      name: 'image_sweep',
      cron: '50 * * * *',
      run: () =>
        removeOrphanImages(
          ctx.log,
          files,
          (names) => filterKnownImages(ctx.db, names),
          addMs(ctx.clock.now(), -ORPHANED_FOR_MS),
        ),
    },
  ]
}
