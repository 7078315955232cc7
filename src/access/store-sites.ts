import { type RawBuilder, sql } from 'kysely'
import { anyOf } from '../platform/db.ts'
import type { SitesScope } from './scope.ts'

/**
 * The condition that a row belongs to one of the scope's sites. A row without a site belongs to the whole organization
 * alone.
 * @param siteId The column that names the site.
 */
export function inSites({ siteIds }: Pick<SitesScope, 'siteIds'>, siteId: RawBuilder<unknown>): RawBuilder<boolean> {
  if (siteIds === 'all') return sql`true`
  // Indexes that start with the site give the order of what follows for a single value, not for an array.
  const [only, ...others] = siteIds
  return only !== undefined && others.length === 0 ? sql`${siteId} = ${only}` : sql`${siteId} = ${anyOf(siteIds)}`
}
