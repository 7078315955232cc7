import type { OrgScope } from '../access/scope.ts'
import { recordLoss } from '../accounts/grants/record-loss.ts'
import { lockGrants, listMemberIds } from '../accounts/grants/store.ts'
import { deleteSsoAdminsOfOrg } from '../accounts/store-removal.ts'
import { appendAudit } from '../events/append.ts'
import { deleteValueCountsOfOrg } from '../devices/store-value-counts.ts'
import { deleteDeviceEventsOfOrg } from '../events/store-removal.ts'
import { deleteDownloadsOfOrg } from '../firmware/store-removal.ts'
import { auditDocumentOfOrg } from '../orgs/org.ts'
import { deleteOrgRow } from '../orgs/store-removal.ts'
import { getOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { lockWebhooks } from '../webhooks/store-removal.ts'
import { assertNothingInTheWay } from './refusal.ts'

/**
 * Deletes the organization with everything in it but the audit log. No webhook is left to announce it; the
 * administrators find it in the logs of their accounts.
 * @throws AppError conflict while it has devices or an upgrade runs.
 */
export async function deleteOrg(ctx: Context, scope: OrgScope): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await lockGrants(tx, scope)
    const org = await getOrg(tx, scope)
    await assertNothingInTheWay(tx, scope)
    await lockWebhooks(tx, scope)
    const message = `Delete Org "${org.name}"`
    await recordLoss(tx, scope, { adminIds: await listMemberIds(tx, scope), message, at })
    await deleteSsoAdminsOfOrg(tx, scope)
    await deleteDeviceEventsOfOrg(tx, scope)
    await deleteDownloadsOfOrg(tx, scope)
    await deleteValueCountsOfOrg(tx, scope)
    await deleteOrgRow(tx, scope)
    await appendAudit(tx, scope, { message, before: auditDocumentOfOrg(org), at })
  })
}
