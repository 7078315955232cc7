import { type OrgScope, systemScope } from '../../access/scope.ts'
import { getOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'

/**
 * Returns the scope in which the operator, who may change everything, changes an organization. @throws AppError
 * not_found.
 */
export async function getOperatorScope(ctx: Context, orgId: string): Promise<OrgScope> {
  const scope = systemScope('operator', orgId)
  await getOrg(ctx.db, scope)
  return scope
}
