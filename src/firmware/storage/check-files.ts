import { readdir } from 'node:fs/promises'
import type { Reader } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { ImagePlace } from '../firmware.ts'
import { type StoredImage, listStoredImages } from './store-files.ts'

/** Lists the images without a file. If the object store does not answer, no image counts as missing. */
export async function listMissingImages(reader: Reader, place: ImagePlace): Promise<StoredImage[]> {
  const images = await listStoredImages(reader)
  try {
    const stored = await listNames(place)
    return images.filter(({ id }) => !stored.has(id))
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}

async function listNames({ dir, objects }: ImagePlace): Promise<ReadonlySet<string>> {
  const names = new Set(await readdir(dir).catch(nothingWithoutFolder))
  if (objects === undefined) return names
  for await (const page of objects.list()) for (const { name } of page) names.add(name)
  return names
}

/** Any other error concerns the disk, not the files. */
function nothingWithoutFolder(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
