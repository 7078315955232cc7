import { sql } from 'kysely'
import type { Reader } from '../database/db.ts'
import type { StorageKind } from '../database/schema.ts'

export interface StorageUsage {
  /** Bytes of the given organization. */
  readonly orgBytes: number
  /** Bytes of all organizations, including that one. */
  readonly totalBytes: number
}

export function getStorageUsage(reader: Reader, kind: StorageKind, orgId: string): Promise<StorageUsage> {
  return reader
    .selectFrom('storageUsage')
    .select([
      // Exact as numbers: far below the limit of a double.
      sql<number>`coalesce(sum(bytes) filter (where org_id = ${orgId}::uuid), 0)::double precision`.as('orgBytes'),
      sql<number>`coalesce(sum(bytes), 0)::double precision`.as('totalBytes'),
    ])
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
}
