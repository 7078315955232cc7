import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentPhase } from '../../rollout/phases/present-phase.ts'
import { phaseText } from '../../rollout/gates/decide-hold.ts'
import { type OrgUpgradeNow, findHeldPhase } from '../../rollout/rounds/decide-org-upgrade.ts'
import { type PhaseOf, START_PHASE, type StartGate, type UpgradeKind } from '../../rollout/rollout.ts'
import { lockOrgUpgrades } from '../../rollout/store.ts'
import { approvalBy } from '../../rollout/gates/approvals.ts'
import { findStartWait, findWait } from '../../rollout/gates/decide-wait.ts'
import { replaceHold } from '../../rollout/gates/store-checks.ts'
import { resumeSiteUpgrades } from '../../rollout/gates/store-hold.ts'
import { insertApproval } from '../../rollout/phases/store.ts'
import { getCreatorId } from '../store.ts'
import { lockWhole } from './lock-changed.ts'
import { findAwaitedPhase, missingText, refuseApprover } from './refuse-approval.ts'

export interface Approval {
  readonly id: string
  /** Absent: an upgrade of devices. */
  readonly kind?: UpgradeKind
  /** The phase that has ended; 0: the start. */
  readonly phase: number
  /** Absent: of the reboots. */
  readonly of?: 'downloads' | undefined
  readonly note: string | null
}

/**
 * Approves a phase that has ended, so that the next one opens, or the start. A phase can't be approved before its devices show
 * the effect of the upgrade.
 * @throws AppError as lockWhole(); invalid for a phase that waits for no approval, while a person has paused the upgrade, and for
 *   its creator if the gate demands another person, or for one who has approved it where several people must.
 */
export async function approveOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id: named, kind = 'device', phase, of, note }: Approval,
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { id, place } = await lockWhole(tx, scope, { id: named, kind }, 'approved')
    const [org] = await lockOrgUpgrades(tx, scope, [id])
    if (org === undefined) throw notFound(id)
    const waiting = findAwaitedPhase({ hold: org.hold, heldPhase: findHeldPhase(org) }, { phase, ...(of && { of }) })
    const { approvals } = org
    const creatorId = await getCreatorId(tx, scope, id)
    await refuseApprover(tx, scope, { waiting, gate: findGate(org, waiting), approvals, creatorId })
    await insertApproval(tx, scope, id, approvalBy(scope.actor, waiting, { note, at }))
    const wait = findFurtherApprovals(org, waiting, at)
    if (wait === null) await resumeSiteUpgrades(tx, scope, id, ctx.serviceClock.nowMs())
    else if (org.hold !== null) await replaceHold(tx, scope, id, { ...org.hold, ...wait })
    const approved = {
      type: 'UPGRADE_APPROVED',
      ...place,
      ...presentPhase(waiting),
      ...(note !== null && { note }),
      ...(wait?.missing !== undefined && { approvals_missing: wait.missing }),
    } as const
    const message = `Approve ${phaseText(waiting)} of upgrade ${id}${missingText(wait?.missing)}`
    await appendUpgradeChange(tx, scope, { ...approved, message, after: { id, ...presentPhase(waiting), note } }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}

/** Returns the wait of the phase for further approvals after one more; null: it needs none. */
function findFurtherApprovals({ start, phases, downloads }: OrgUpgradeNow, { phase, of }: PhaseOf, now: Date) {
  if (phase === START_PHASE) return findStartWait(start && { ...start, given: start.given + 1 })
  const concerned = of === 'downloads' ? downloads : phases
  const wait = concerned && findWait(phase, { ...concerned, approved: [...concerned.approved, phase] }, now)
  // The engine lets an approved phase wait for its instant.
  return wait?.by === 'approval' ? wait : null
}

function findGate({ start, phases, downloads }: OrgUpgradeNow, { phase, of }: PhaseOf): StartGate | null {
  if (phase === START_PHASE) return start?.gate ?? null
  return (of === 'downloads' ? downloads : phases)?.gates?.[phase - 1] ?? null
}
