import type { OrgScope } from '../access/scope.ts'
import { epochS } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { invalidField } from '../platform/errors.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { appendUpgradeChange } from '../rollout/append-events.ts'
import { lockOrgUpgrades } from '../rollout/store.ts'
import { resumeSiteUpgrades } from '../rollout/store-hold.ts'
import { insertApproval } from '../rollout/store-phases.ts'
import { lockOrgUpgrade } from './store.ts'

export interface Approval {
  readonly id: string
  /** The phase that has ended. */
  readonly phase: number
  readonly note: string | null
}

/**
 * Approves a phase that has ended, so that the next one opens. Nobody approves a phase before its devices show what the
 * upgrade does.
 * @throws AppError not_found; invalid for a phase that waits for no approval.
 */
export async function approveOrgUpgrade(ctx: Context, scope: OrgScope, { id, phase, note }: Approval): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await lockOrgUpgrade(tx, scope, { id, kind: 'device' })
    const [org] = await lockOrgUpgrades(tx, scope, [id])
    const waiting = org?.hold?.by === 'approval' ? (org.phases?.current ?? null) : null
    if (waiting === null) throw invalidField('phase', `is ${phase}, but no phase of the upgrade waits for an approval`)
    if (waiting !== phase) throw invalidField('phase', `is ${phase}, but phase ${waiting} waits for an approval`)
    const { name, adminId } = scope.actor
    const approval = { phase, by: 'approval', name, admin_id: adminId, note, at_s: epochS(at) } as const
    await insertApproval(tx, scope, id, approval)
    await resumeSiteUpgrades(tx, scope, id, ctx.serviceClock.nowMs())
    const approved = { type: 'UPGRADE_APPROVED', upgrade_id: id, phase, ...(note !== null && { note }) } as const
    const message = `Approve phase ${phase} of upgrade ${id}`
    await appendUpgradeChange(tx, scope, { ...approved, message, after: { id, phase, note } }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}
