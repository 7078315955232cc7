import type { InOrg, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/**
 * Lets one transaction at a time add maps to the organization. Call it first in `tx`: everybody locks this before
 * sites.
 */
export async function lockUsage(tx: Tx, { orgId }: InOrg): Promise<void> {
  await tx.selectFrom('org').select('id').where('id', '=', orgId).forNoKeyUpdate().execute()
}

export async function countMapsOfSite(tx: Tx, { orgId, siteId }: SiteScope): Promise<number> {
  const { count } = await tx
    .selectFrom('siteMap')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
