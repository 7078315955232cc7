import type { OrgScope, SiteScope } from '../access/scope.ts'
import { type Tx, countRows } from '../platform/db.ts'

/** How many devices the organization has, or the site alone. */
export function countDevices(tx: Tx, scope: OrgScope | SiteScope): Promise<number> {
  const all = tx.selectFrom('device').where('orgId', '=', scope.orgId)
  const here = 'siteId' in scope ? all.where('siteId', '=', scope.siteId) : all
  return countRows(here)
}

/** These rows have no foreign key to their organization, so they do not go with it. */
export async function deleteActiveTargetsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.deleteFrom('activeUpgradeTarget').where('orgId', '=', orgId).execute()
}
