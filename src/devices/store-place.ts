import { sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import { shareMapsOfSite } from '../maps/store-share.ts'
import type { Tx } from '../platform/database/db.ts'
import { shareSiteName } from './store.ts'

/** The place of a device: its site, and the map from its document. */
export interface Place {
  readonly siteId: string
  readonly siteName: string
  readonly mapId: unknown
}

/**
 * Returns the place of a device, and prevents the deletion of its site and map until `tx` ends. The device itself is
 * locked after them, and may have another place by then. Undefined if the device is in no site of the scope.
 * @param mac In lower case without separators.
 */
export async function sharePlaceOf(tx: Tx, scope: SitesScope, mac: string): Promise<Place | undefined> {
  const device = await tx
    .selectFrom('device')
    .select(['siteId', 'doc'])
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('device.site_id')))
    .where('mac', '=', mac)
    .executeTakeFirst()
  if (device === undefined || device.siteId === null) return undefined
  const { siteId } = device
  const siteName = await shareSiteName(tx, scope, siteId)
  if (siteName === undefined) return undefined
  const mapId = device.doc['map_id']
  await shareMapsOfSite(tx, scope, { siteId, mapIds: [mapId] })
  return { siteId, siteName, mapId }
}
