import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reader } from '../platform/db.ts'
import type { FirmwareFiles } from './firmware.ts'
import { type StoredImage, listStoredImages } from './store-files.ts'

/** Lists the images whose files are not on the disk. */
export async function listMissingImages(reader: Reader, { dir }: Pick<FirmwareFiles, 'dir'>): Promise<StoredImage[]> {
  const missing: StoredImage[] = []
  for (const image of await listStoredImages(reader)) if (!(await isThere(join(dir, image.id)))) missing.push(image)
  return missing
}

/** Any other error than a missing file concerns the disk, not the file. */
async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}
