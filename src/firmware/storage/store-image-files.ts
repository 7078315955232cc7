import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'

export interface ImageKey {
  readonly orgId: string
  readonly id: string
}

/** The data that a downloader needs to check the file of an image. */
export interface ImageFile {
  /** Lower-case hex. */
  readonly sha256: string
  readonly sizeBytes: number
  /** Ed25519 over the 32 bytes of the SHA-256, in base64; null if unsigned. */
  readonly signature: string | null
}

const keyColumns = columnsOf('firmwareImage', { orgId: 'uuid', id: 'uuid' })

/** Returns the files of the images that exist, by the id of the image. */
export async function listImageFiles(reader: Reader, images: readonly ImageKey[]): Promise<Map<string, ImageFile>> {
  const found = await sql<ImageFile & { id: string }>`
    select image.id, image.sha256, image.size_bytes::float8 as size_bytes, image.signature
    from ${rowsAs('wanted', keyColumns, images)}
    join firmware_image image on image.org_id = wanted.org_id and image.id = wanted.id
  `.execute(reader)
  return new Map(found.rows.map(({ id, ...file }) => [id, file]))
}
