import type { OrgScope, SiteScope } from '../access/scope.ts'
import { type Tx, countRows } from '../platform/database/db.ts'

/** Counts the devices of the organization, or of the site. */
export function countDevices(tx: Tx, scope: OrgScope | SiteScope): Promise<number> {
  const all = tx.selectFrom('device').where('orgId', '=', scope.orgId)
  const here = 'siteId' in scope ? all.where('siteId', '=', scope.siteId) : all
  return countRows(here)
}
