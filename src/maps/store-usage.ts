import type { InOrg, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** One at a time adds maps to the organization. Before anything else of `tx`: all lock it before its sites. */
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
