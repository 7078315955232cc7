import { filterKnownDeviceImages } from '../devices/images/store.ts'
import { filterKnownMapImages } from '../maps/store.ts'
import { filterKnownMxedgeImages } from '../mxedges/images/store.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import type { Db } from '../platform/db.ts'
import { type ImageFiles, removeOrphanImages } from '../platform/images/image-files.ts'
import type { Task } from '../platform/jobs.ts'

/** Of the files in the folder of images, those that a row of some noun refers to. See sweepImages(). */
export async function filterKnownImages(db: Db, names: readonly string[]): Promise<ReadonlySet<string>> {
  const filters = [filterKnownDeviceImages, filterKnownMapImages, filterKnownMxedgeImages]
  const known = await Promise.all(filters.map((filter) => filter(db, names)))
  return new Set(known.flat())
}

/** Longer than any upload takes from its file to its row. */
const ORPHANED_FOR_MS = 3600e3

/** The chores of pictures, for startJobs(): those of a site that was deleted, say, have no row any more. */
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
