import { type Reader, anyOf } from '../platform/db.ts'

/**
 * Of `imageIds`, returns those for which any organization has an image. Files have no tenant, so this is the only read
 * across organizations: at start-up, to tell images from leftovers.
 */
export async function filterKnownImageIds(reader: Reader, imageIds: readonly string[]): Promise<Set<string>> {
  const rows = await reader.selectFrom('firmwareImage').select('id').where('id', '=', anyOf(imageIds)).execute()
  return new Set(rows.map(({ id }) => id))
}
