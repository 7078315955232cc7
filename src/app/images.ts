import { filterKnownDeviceImages } from '../devices/images/store.ts'
import { filterKnownMapImages } from '../maps/store.ts'
import { filterKnownMxedgeImages } from '../mxedges/images/store.ts'
import type { Db } from '../platform/db.ts'

/** Of the files in the folder of images, those that a row of some noun refers to. See sweepImages(). */
export async function filterKnownImages(db: Db, names: readonly string[]): Promise<ReadonlySet<string>> {
  const filters = [filterKnownDeviceImages, filterKnownMapImages, filterKnownMxedgeImages]
  const known = await Promise.all(filters.map((filter) => filter(db, names)))
  return new Set(known.flat())
}
