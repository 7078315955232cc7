import type { OrgScope } from '../../access/scope.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Tx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { countFullAdmins } from './store-admins.ts'

/**
 * Makes a change that may take privileges from somebody, one at a time in each organization.
 *
 * @throws AppError invalid when nobody would administer the whole organization any more. Those who
 *   come from an identity provider don't count: its failure must not lock everybody out.
 */
export async function keepAnAdmin<T>(tx: Tx, scope: OrgScope, change: () => Promise<T>): Promise<T> {
  await lockOrg(tx, scope)
  const before = await countFullAdmins(tx, scope.orgId)
  const result = await change()
  if (before > 0 && (await countFullAdmins(tx, scope.orgId)) === 0)
    throw new AppError('invalid', 'The organization would be left without an admin.')
  return result
}
