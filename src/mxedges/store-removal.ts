import type { SiteScope } from '../access/scope.ts'
import type { EventMxedge } from '../events/append-mxedge.ts'
import type { Tx } from '../platform/database/db.ts'

/**
 * Removes the edge appliances from a site that is being deleted. @returns The appliances before the change, ordered by
 * id.
 */
export async function unassignMxedges(tx: Tx, { orgId, siteId }: SiteScope, at: Date): Promise<EventMxedge[]> {
  const mxedges = await tx
    .selectFrom('mxedge')
    .select(['id', 'name', 'mac', 'mxclusterId', 'siteId'])
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .orderBy('id')
    .forUpdate()
    .execute()
  await tx
    .updateTable('mxedge')
    .set({ siteId: null, modifiedAt: at })
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .execute()
  return mxedges
}
