import { sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import { type Tx, anyOf } from '../platform/database/db.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/**
 * Returns the ids of those maps that belong to the site, in lower case. They can't be deleted until `tx` ends. Devices
 * must be locked after them.
 * @param mapIds The values in documents; values that are not ids are ignored.
 */
export async function shareMapsOfSite(
  tx: Tx,
  scope: SitesScope,
  { siteId, mapIds }: { readonly siteId: string; readonly mapIds: readonly unknown[] },
): Promise<ReadonlySet<string>> {
  const ids = mapIds.filter((id) => typeof id === 'string').filter((id) => uuid.test(id))
  if (ids.length === 0) return new Set()
  const rows = await tx
    .selectFrom('siteMap')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('site_map.site_id')))
    .where('siteId', '=', siteId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forKeyShare()
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Returns the site of a map, which can't be deleted until `tx` ends. Lock devices after it. */
export async function shareMap(tx: Tx, scope: SitesScope, id: string): Promise<{ siteId: string } | undefined> {
  return tx
    .selectFrom('siteMap')
    .select('siteId')
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('site_map.site_id')))
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst()
}
