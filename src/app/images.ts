import { filterKnownDeviceImages } from '../devices/images/store.ts'
import { filterKnownMapImages } from '../maps/store.ts'
import type { Db } from '../platform/db.ts'

/** Of the files in the folder of images, those that a row of some noun refers to. See sweepImages(). */
export async function filterKnownImages(db: Db, names: readonly string[]): Promise<ReadonlySet<string>> {
  const known = await Promise.all([filterKnownDeviceImages(db, names), filterKnownMapImages(db, names)])
  return new Set(known.flat())
}
