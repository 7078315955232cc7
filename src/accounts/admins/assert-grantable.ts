import type { Caller } from '../../access/authorize.ts'
import type { Tx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../platform/schema/accounts.ts'
import { mayGrant } from './decide-grant.ts'
import { listKnownSites, wirePrivilege } from './store-privileges.ts'

export interface Grant {
  readonly caller: Caller
  readonly orgId: string
  readonly privileges: readonly WirePrivilege[]
}

/**
 * @throws AppError forbidden where the caller could not do themselves what the privileges allow;
 *   not_found for a site that the organization does not have.
 */
export async function assertGrantable(tx: Tx, { caller, orgId, privileges }: Grant): Promise<void> {
  const held = caller.principal.privileges.filter((privilege) => privilege.orgId === orgId)
  if (!mayGrant(held.map(wirePrivilege), privileges))
    throw new AppError('forbidden', 'You can not give privileges that you do not have.')
  const sites = await listKnownSites(tx, orgId, privileges)
  for (const { site_id: siteId } of privileges) if (siteId !== undefined && !sites.has(siteId)) throw notFound(siteId)
}
