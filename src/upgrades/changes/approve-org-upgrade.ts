import type { InOrg, PlaceScope } from '../../access/scope.ts'
import { listAccountsOf } from '../../access/store-people.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentPhase } from '../../rollout/phases/present-phase.ts'
import { phaseText } from '../../rollout/gates/decide-hold.ts'
import { type OrgUpgradeNow, findHeldPhase } from '../../rollout/rounds/decide-org-upgrade.ts'
import { type PhaseOf, START_PHASE, type StartGate, type UpgradeKind } from '../../rollout/rollout.ts'
import { type LockedApprovals, lockOrgUpgrades } from '../../rollout/store.ts'
import { findStartWait, findWait } from '../../rollout/gates/decide-wait.ts'
import { replaceHold } from '../../rollout/gates/store-checks.ts'
import { counted } from '../../platform/counted.ts'
import { resumeSiteUpgrades } from '../../rollout/gates/store-hold.ts'
import { insertApproval } from '../../rollout/phases/store.ts'
import { getCreatorId } from '../store.ts'
import { lockWhole } from './lock-changed.ts'

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
    if (org?.hold?.by === 'user')
      throw new AppError(
        'invalid',
        `The phase can't be approved: the upgrade is ${org.hold.reason}, so resume it first`,
      )
    const waiting = org?.hold?.by === 'approval' ? findHeldPhase(org) : null
    if (org === undefined || waiting === null)
      throw invalidField('phase', `is ${phase}, but no phase of the upgrade waits for an approval`)
    const awaited = `${phaseText(waiting)} waits for an approval`
    if (waiting.of !== of) throw invalidField('phase_of', `is ${of ?? 'reboots'}, but ${awaited}`)
    if (waiting.phase !== phase) throw invalidField('phase', `is ${phase}, but ${awaited}`)
    await refuseApprover(tx, scope, { id, org, waiting })
    const { name, adminId } = scope.actor
    const approval = { ...waiting, by: 'approval', name, admin_id: adminId, note, at_s: epochS(at) } as const
    await insertApproval(tx, scope, id, approval)
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
    const missing = wait?.missing === undefined ? '' : `, which waits for ${counted(wait.missing, 'further approval')}`
    const message = `Approve ${phaseText(waiting)} of upgrade ${id}${missing}`
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

interface Approved {
  readonly id: string
  readonly org: OrgUpgradeNow & LockedApprovals
  readonly waiting: PhaseOf
}

/** @throws AppError invalid for a person whose approval does not count. */
async function refuseApprover(tx: Tx, scope: InOrg, { id, org, waiting }: Approved): Promise<void> {
  const gate = findGate(org, waiting)
  if (gate?.prevent_self_approval === true) {
    const creatorId = await getCreatorId(tx, scope, id)
    const who = await findBarred(tx, scope, creatorId === null ? [] : [creatorId], 'the person who created the upgrade')
    if (who !== null)
      throw new AppError('invalid', `The phase can't be approved by ${who}: its gate has prevent_self_approval`)
  }
  if (gate?.approvals === undefined) return
  const given = org.approvals.flatMap(({ phase, of, by, admin_id: approver }) =>
    phase === waiting.phase && of === waiting.of && by === 'approval' && approver !== null ? [approver] : [],
  )
  const who = await findBarred(tx, scope, given, 'the same person again')
  if (who !== null)
    throw new AppError(
      'invalid',
      `The phase can't be approved by ${who}: its gate needs approvals by ${gate.approvals} different people`,
    )
}

/** Returns in words why the caller is none of the people that the gate needs; null: the caller may be one. */
async function findBarred(tx: Tx, scope: InOrg, accounts: readonly string[], words: string): Promise<string | null> {
  const { adminId } = scope.actor
  if (adminId === null) return 'a token that belongs to no person'
  return (await listAccountsOf(tx, adminId, accounts)).length > 0 ? words : null
}

function findGate({ start, phases, downloads }: OrgUpgradeNow, { phase, of }: PhaseOf): StartGate | null {
  if (phase === START_PHASE) return start?.gate ?? null
  return (of === 'downloads' ? downloads : phases)?.gates?.[phase - 1] ?? null
}
