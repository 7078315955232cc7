import type { InOrg, SiteScope } from '../access/scope.ts'
import { type Tx, countRows } from '../platform/db.ts'

/**
 * Lets one transaction at a time add maps to the organization. Call it first in `tx`: everybody locks this before
 * sites.
 */
export async function lockUsage(tx: Tx, { orgId }: InOrg): Promise<void> {
  await tx.selectFrom('org').select('id').where('id', '=', orgId).forNoKeyUpdate().execute()
}

export function countMapsOfSite(tx: Tx, { orgId, siteId }: SiteScope): Promise<number> {
  return countRows(tx.selectFrom('siteMap').where('orgId', '=', orgId).where('siteId', '=', siteId))
}
