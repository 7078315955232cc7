import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { findFurtherApprovals, findHeldPhase } from '../../mxedges/upgrades/decide-wait.ts'
import { insertApproval, lockUpgrade, pauseUpgrade, resumeUpgrade } from '../../mxedges/upgrades/store-records.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { approvalBy } from '../../rollout/gates/approvals.ts'
import { phaseText } from '../../rollout/gates/decide-hold.ts'
import { START_PHASE } from '../../rollout/rollout.ts'
import { findAwaitedPhase, missingText, refuseApprover } from '../changes/refuse-approval.ts'
import type { Approval } from '../changes/approve-org-upgrade.ts'

/**
 * Approves a phase that has ended, or the start, as approveOrgUpgrade() does.
 * @throws AppError not_found; invalid for a phase that waits for no approval, and for a person whose approval does not count.
 */
export async function approveMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id, phase, of, note }: Approval,
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const upgrade = await lockUpgrade(tx, scope, id)
    const { hold, plan, approvals, adminId: creatorId, siteId } = upgrade
    const waiting = findAwaitedPhase({ hold, heldPhase: findHeldPhase(upgrade) }, { phase, ...(of && { of }) })
    const gate = waiting.phase === START_PHASE ? plan.start_gate : plan.gates?.[waiting.phase - 1]
    await refuseApprover(tx, scope, { waiting, gate: gate ?? null, approvals, creatorId })
    const approval = approvalBy(scope.actor, waiting, { note, at })
    await insertApproval(tx, upgrade, approval)
    const wait = findFurtherApprovals({ ...upgrade, approvals: [...approvals, approval] }, at)
    if (wait === null) await resumeUpgrade(tx, upgrade, ctx.serviceClock.nowMs())
    else if (hold !== null) await pauseUpgrade(tx, upgrade, { ...hold, ...wait })
    await appendMxedgeUpgradeChange(tx, scope, {
      id,
      type: 'UPGRADE_APPROVED',
      message: `Approve ${phaseText(waiting)} of upgrade ${id} of edge appliances${missingText(wait?.missing)}`,
      siteId: siteId ?? siteIdOf(scope),
      after: {
        phase,
        ...(note !== null && { note }),
        ...(wait?.missing !== undefined && { approvals_missing: wait.missing }),
      },
      at,
    })
    wakeAfterCommit(tx, 'mxedges')
  })
}
