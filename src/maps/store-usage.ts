import { sql } from 'kysely'
import type { OrgScope, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** One at a time adds maps to the organization. Before anything else of `tx`: all lock it before its sites. */
export async function lockUsage(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.selectFrom('org').select('id').where('id', '=', orgId).forNoKeyUpdate().execute()
}

export interface MapUsage {
  /** Of the site. */
  readonly maps: number
  /** Of the organization. */
  readonly imageBytes: number
}

export function readUsage(tx: Tx, { orgId, siteId }: SiteScope): Promise<MapUsage> {
  return tx
    .selectFrom('siteMap')
    .select([
      sql<number>`count(*) filter (where site_id = ${siteId}::uuid)::integer`.as('maps'),
      // Exact as a number: far below what a double counts.
      sql<number>`coalesce(sum(image_bytes), 0)::double precision`.as('imageBytes'),
    ])
    .where('orgId', '=', orgId)
    .executeTakeFirstOrThrow()
}
