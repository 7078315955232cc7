import { type RawBuilder, sql } from 'kysely'
import { anyOf } from '../platform/database/db.ts'
import type { SitesScope } from './scope.ts'

/**
 * The condition that a row belongs to one of the scope's sites. A row without a site belongs only to the whole
 * organization.
 * @param siteId The column that names the site.
 */
export function inSites({ siteIds }: Pick<SitesScope, 'siteIds'>, siteId: RawBuilder<unknown>): RawBuilder<boolean> {
  if (siteIds === 'all') return sql`true`
  // An index that starts with the site yields the order of its later columns for a single value, but not for an array.
  const [only, ...others] = siteIds
  return only !== undefined && others.length === 0 ? sql`${siteId} = ${only}` : sql`${siteId} = ${anyOf(siteIds)}`
}
