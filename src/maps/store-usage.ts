import { sql } from 'kysely'
import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'

export function countMaps(
  tx: Tx,
  { orgId, siteId }: SiteScope,
): Promise<{ readonly ofOrg: number; readonly ofSite: number }> {
  return tx
    .selectFrom('siteMap')
    .select([
      sql<number>`count(*)::int`.as('ofOrg'),
      sql<number>`(count(*) filter (where site_id = ${siteId}))::int`.as('ofSite'),
    ])
    .where('orgId', '=', orgId)
    .executeTakeFirstOrThrow()
}
