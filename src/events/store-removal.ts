import { sql } from 'kysely'
import type { OrgScope, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import { orgCodeOf } from './store-places.ts'

/** These rows have no foreign key to their organization, because every device event would have to check it. */
export async function deleteDeviceEventsOfOrg(tx: Tx, scope: OrgScope): Promise<void> {
  await tx.deleteFrom('deviceEventRow').where('org', '=', orgCodeOf(scope)).execute()
}

/** Notes that the site has been deleted: its place stays as long as its events. */
export async function endPlace(tx: Tx, { orgId, siteId }: SiteScope, at: Date): Promise<void> {
  await tx
    .updateTable('eventPlace')
    .set({ deletedAt: at })
    .where('orgId', '=', orgId)
    .where(sql<boolean>`coalesce(site_id, org_id) = ${siteId}`)
    .execute()
}
