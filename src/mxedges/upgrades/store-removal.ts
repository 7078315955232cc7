import type { OrgScope, SiteScope } from '../../access/scope.ts'
import { type Tx, countRows } from '../../platform/database/db.ts'

/** Counts the unfinished upgrades of edge appliances of the organization, or of the site. */
export function countRunningMxedgeUpgrades(tx: Tx, scope: OrgScope | SiteScope): Promise<number> {
  const all = tx.selectFrom('mxedgeUpgrade').where('orgId', '=', scope.orgId).where('finishedAt', 'is', null)
  const here = 'siteId' in scope ? all.where('siteId', '=', scope.siteId) : all
  return countRows(here)
}
