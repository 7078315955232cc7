import { sql } from 'kysely'
import type { OrgScope, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** How many devices the organization has, or the site alone. */
export async function countDevices(tx: Tx, scope: OrgScope | SiteScope): Promise<number> {
  const all = tx.selectFrom('device').where('orgId', '=', scope.orgId)
  const here = 'siteId' in scope ? all.where('siteId', '=', scope.siteId) : all
  const { count } = await here.select(sql<string>`count(*)`.as('count')).executeTakeFirstOrThrow()
  return Number(count)
}
