import { sql } from 'kysely'
import type { Reader } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'

export interface ImageKey {
  readonly orgId: string
  readonly id: string
}

const keyColumns = columnsOf('firmwareImage', { orgId: 'uuid', id: 'uuid' })

/** Returns the SHA-256 of the images that exist, by their id. */
export async function listImageDigests(reader: Reader, images: readonly ImageKey[]): Promise<Map<string, string>> {
  const found = await sql<{ id: string; sha256: string }>`
    select image.id, image.sha256
    from ${rowsAs('wanted', keyColumns, images)}
    join firmware_image image on image.org_id = wanted.org_id and image.id = wanted.id
  `.execute(reader)
  return new Map(found.rows.map(({ id, sha256 }) => [id, sha256]))
}
