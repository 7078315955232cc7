import { type Reader, anyOf } from '../../platform/database/db.ts'

/**
 * Returns those of `imageIds` for which any organization has an image. Files have no tenant, so this reads across
 * organizations, to distinguish images from leftovers.
 */
export async function filterKnownImageIds(reader: Reader, imageIds: readonly string[]): Promise<Set<string>> {
  const rows = await reader.selectFrom('firmwareImage').select('id').where('id', '=', anyOf(imageIds)).execute()
  return new Set(rows.map(({ id }) => id))
}

export interface StoredImage {
  readonly orgId: string
  readonly id: string
}

/** Lists the images of all organizations, for the check of their files. */
export function listStoredImages(reader: Reader): Promise<StoredImage[]> {
  return reader.selectFrom('firmwareImage').select(['orgId', 'id']).orderBy('orgId').orderBy('id').execute()
}

/** The data that identifies the content of an image's file. */
export interface FileFacts {
  readonly id: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** Returns those of the file names that belong to images of any organization, in order. */
export async function listFileFacts(reader: Reader, names: readonly string[]): Promise<FileFacts[]> {
  const rows = await reader
    .selectFrom('firmwareImage')
    .select(['id', 'sha256', 'sizeBytes'])
    .where((eb) => eb(eb.cast<string>('id', 'text'), '=', anyOf(names)))
    .orderBy('id')
    .execute()
  return rows.map(({ sizeBytes, ...row }) => Object.assign(row, { sizeBytes: Number(sizeBytes) }))
}
