import type { OrgScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inUpgradeTx } from '../changes/in-upgrade-tx.ts'
import { createUpgrade } from './create-upgrade.ts'
import type { OrgUpgrade, UpgradeRequest } from '../org-upgrade.ts'
import { getOrgUpgrade } from '../store.ts'

/** Creates an upgrade of an organization; see createUpgrade(). @throws AppError invalid */
export async function createOrgUpgrade(ctx: Context, scope: OrgScope, request: UpgradeRequest): Promise<OrgUpgrade> {
  return inUpgradeTx(ctx, scope, async (tx) => {
    const { org } = await createUpgrade(ctx, tx, scope, request)
    return getOrgUpgrade(tx, scope, org.id)
  })
}
