import { sql } from 'kysely'
import type { Reader } from '../db.ts'
import type { StorageKind } from '../schema.ts'

export interface StorageUsage {
  /** Of the organization that was asked for. */
  readonly orgBytes: number
  /** Of all organizations, that one among them. */
  readonly totalBytes: number
}

export function getStorageUsage(reader: Reader, kind: StorageKind, orgId: string): Promise<StorageUsage> {
  return reader
    .selectFrom('storageUsage')
    .select([
      // Exact as numbers: far below what a double counts.
      sql<number>`coalesce(sum(bytes) filter (where org_id = ${orgId}::uuid), 0)::double precision`.as('orgBytes'),
      sql<number>`coalesce(sum(bytes), 0)::double precision`.as('totalBytes'),
    ])
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
}
