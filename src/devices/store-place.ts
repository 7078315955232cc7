import type { SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** Whether the site has the map, which is kept from being deleted until `tx` ends. Lock devices after it. */
export async function holdMapOfSite(tx: Tx, scope: SiteScope, mapId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('siteMap')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where('id', '=', mapId)
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}
