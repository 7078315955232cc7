import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentPhase } from '../../rollout/phases/present-phase.ts'
import { findHeldPhase } from '../../rollout/rounds/decide-org-upgrade.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { lockOrgUpgrades } from '../../rollout/store.ts'
import { openingBy } from '../../rollout/gates/approvals.ts'
import { resumeSiteUpgrades } from '../../rollout/gates/store-hold.ts'
import { insertApproval } from '../../rollout/phases/store.ts'
import { lockWhole } from './lock-changed.ts'
import { refuseUnapproved } from './refuse-approval.ts'

/**
 * Resumes every paused site upgrade, whether a person or a gate has paused it. Without any, nothing changes.
 *
 * @throws AppError as lockWhole(); invalid for an upgrade that waits for an approval.
 */
export async function resumeOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  named: string,
  kind: UpgradeKind = 'device',
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { id, place } = await lockWhole(tx, scope, { id: named, kind }, 'resumed')
    const [org] = await lockOrgUpgrades(tx, scope, [id])
    refuseUnapproved(org?.hold ?? null)
    if ((await resumeSiteUpgrades(tx, scope, id, ctx.serviceClock.nowMs())) === 0) return
    const phase = org && findHeldPhase(org)
    const opening = phase && openingBy(scope.actor, phase, { hold: org.hold, at })
    if (opening) await insertApproval(tx, scope, id, opening)
    const resumed = { type: 'UPGRADE_RESUMED', ...place, message: `Resume upgrade ${id}` } as const
    await appendUpgradeChange(tx, scope, { ...resumed, ...(phase && presentPhase(phase)) }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}
