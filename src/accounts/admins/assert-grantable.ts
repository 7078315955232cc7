import type { Caller } from '../../access/authorize.ts'
import type { InOrg } from '../../access/scope.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { mayGrant } from './decide-grant.ts'
import { findPlaces, listPrivilegesOf } from './store-privileges.ts'

export interface Grant {
  readonly caller: Caller
  readonly privileges: readonly WirePrivilege[]
}

/**
 * Asserts that the caller may grant the privileges, judged by the caller's current privileges, and locks the
 * organization so that this remains true: the caller may have been demoted since the request began, and a grant
 * outlasts that.
 *
 * @throws AppError forbidden if the caller lacks one of the privileges; not_found for a site or a site group that the
 *   organization does not have.
 */
export async function assertGrantable(tx: Tx, scope: InOrg, { caller, privileges }: Grant): Promise<void> {
  await lockOrg(tx, scope)
  if (!(await holdsGrantOf(tx, scope, { caller, privileges })))
    throw new AppError('forbidden', "You can't grant privileges that you do not have")
  const isKnown = await findPlaces(tx, scope, privileges)
  const unknown = privileges.find((privilege) => !isKnown(privilege))
  if (unknown !== undefined) throw notFound(unknown.site_id ?? unknown.sitegroup_id ?? '')
}

/** True if the caller's current privileges include these. This remains true while the organization is locked. */
export async function holdsGrantOf(tx: Tx, scope: InOrg, { caller, privileges }: Grant): Promise<boolean> {
  const { adminId, tokenId } = caller.principal
  const holder = adminId ?? tokenId
  return mayGrant(holder === null ? [] : await listPrivilegesOf(tx, scope, holder), privileges)
}
