import type { Reader, Tx } from '../platform/database/db.ts'
import type { MapImage } from './store.ts'

/** A picture that has no thumbnail yet. */
export interface BarePicture {
  readonly orgId: string
  readonly mapId: string
  readonly image: string
}

/** Lists pictures of all organizations, for a job. */
export async function listBarePictures(reader: Reader, limit: number): Promise<BarePicture[]> {
  const rows = await selectBare(reader).orderBy('orgId').orderBy('id').limit(limit).execute()
  return rows.flatMap(({ orgId, mapId, image }) => (image === null ? [] : [{ orgId, mapId, image }]))
}

function selectBare(reader: Reader) {
  return reader
    .selectFrom('siteMap')
    .select(['orgId', 'id as mapId', 'image'])
    .where('image', 'is not', null)
    .where('thumbnail', 'is', null)
    .where('thumbnailFailed', '=', false)
}

/**
 * @param thumbnail A stored picture; null: it can't be made.
 * @returns False if the map has another picture or a thumbnail by now, or is deleted.
 */
export async function updateThumbnail(
  tx: Tx,
  { orgId, mapId, image }: BarePicture,
  thumbnail: MapImage | null,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('siteMap')
    .set({
      thumbnail: thumbnail?.name ?? null,
      thumbnailBytes: thumbnail?.sizeBytes ?? 0,
      thumbnailFailed: thumbnail === null,
    })
    .where('orgId', '=', orgId)
    .where('id', '=', mapId)
    .where('image', '=', image)
    .where('thumbnail', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
