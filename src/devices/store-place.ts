import { sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import { type Tx, anyOf } from '../platform/db.ts'
import { holdSiteName } from './store.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/**
 * Those of the maps that the site has, in lower case; they are kept from being deleted until `tx` ends. Lock
 * devices after them.
 * @param mapIds As documents have them: whatever is no id is no map.
 */
export async function holdMapsOfSite(
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

/** Where a device is: its site, and the map it is on, as its document has it. */
export interface Place {
  readonly siteId: string
  readonly siteName: string
  readonly mapId: unknown
}

/**
 * The place of a device, whose site and map are kept from being deleted until `tx` ends. The device itself
 * is locked after them, and may have another place by then. Undefined where it is of no site of the scope.
 * @param mac In lower case without separators.
 */
export async function holdPlaceOf(tx: Tx, scope: SitesScope, mac: string): Promise<Place | undefined> {
  const device = await tx
    .selectFrom('device')
    .select(['siteId', 'doc'])
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('device.site_id')))
    .where('mac', '=', mac)
    .executeTakeFirst()
  if (device === undefined || device.siteId === null) return undefined
  const { siteId } = device
  const siteName = await holdSiteName(tx, scope, siteId)
  if (siteName === undefined) return undefined
  const mapId = device.doc['map_id']
  await holdMapsOfSite(tx, scope, { siteId, mapIds: [mapId] })
  return { siteId, siteName, mapId }
}
