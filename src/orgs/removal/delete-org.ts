import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { auditDocumentOfOrg } from '../org.ts'
import { getOrg } from '../store.ts'
import { recordLoss } from './record-loss.ts'
import { assertNothingInTheWay } from './refusal.ts'
import { countInTheWay, deleteOrgRow, lockWebhooks } from './store.ts'
import { holdGrants, listMemberIds } from './store-grants.ts'

/**
 * With everything in it but the audit log. Nobody is there any more to be told by a webhook: the
 * administrators find it in the logs of their own accounts.
 *
 * @throws AppError conflict while it has devices or an upgrade runs.
 */
export async function deleteOrg(ctx: Context, scope: OrgScope): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await holdGrants(tx, scope)
    const org = await getOrg(tx, scope)
    assertNothingInTheWay('organization', await countInTheWay(tx, scope))
    await lockWebhooks(tx, scope)
    const message = `Delete Org "${org.name}"`
    await recordLoss(tx, scope, { adminIds: await listMemberIds(tx, scope), message, at })
    await deleteOrgRow(tx, scope)
    await appendAudit(tx, scope, { message, before: auditDocumentOfOrg(org), at })
  })
}
