import type { OrgScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inCreationTx } from './in-creation-tx.ts'
import type { OrgUpgrade, UpgradeRequest } from '../org-upgrade.ts'
import { getOrgUpgrade } from '../store.ts'

/** Creates an upgrade of an organization; see createUpgrade(). @throws AppError invalid */
export async function createOrgUpgrade(ctx: Context, scope: OrgScope, request: UpgradeRequest): Promise<OrgUpgrade> {
  return inCreationTx(ctx, scope, async (tx, create) => {
    const { org } = await create(request)
    return getOrgUpgrade(tx, scope, org.id)
  })
}
