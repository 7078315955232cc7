import type { InOrg } from '../../access/scope.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { counted } from '../../platform/counted.ts'
import { addReleased, endAfterRelease, releaseCounts, shrinkPlan } from '../../rollout/changes/plan-release.ts'
import type { Release } from '../../rollout/changes/store-release.ts'
import type { WholeEnd } from '../../rollout/decide-whole-status.ts'
import { decideOutcome } from '../../rollout/rounds/decide-outcome.ts'
import type { MxedgeUpgrade } from './store-records.ts'
import { type MxedgeTargetState, inFlightStates, waitingStates } from './upgrade.ts'

/** An appliance that its upgrade loses: another upgrade takes it over, or a person excludes it. */
export interface ReleasedAppliance {
  readonly mxedgeId: string
  /** The id of the upgrade. */
  readonly orgUpgradeId: string
  readonly phase: number
  readonly state: MxedgeTargetState
}

/** What upgrades have lost. */
export interface ReleasedMxedges {
  readonly appliances: number
  /** The statuses of the upgrades that have ended without further ones. */
  readonly ended: readonly WholeEnd[]
}

/** Cancels the targets in the upgrades that lose them, and ends upgrades without further ones. The caller has locked these. */
export async function updateReleased(
  tx: Tx,
  scope: InOrg,
  targets: readonly ReleasedAppliance[],
  { reason, now, nowMs }: Release,
): Promise<ReleasedMxedges> {
  const ended: WholeEnd[] = []
  for (const [id, some] of Map.groupBy(targets, ({ orgUpgradeId }) => orgUpgradeId)) {
    await tx
      .updateTable('mxedgeUpgradeTarget')
      .set({ state: 'cancelled', reason, retryAtMs: null, enteredMs: nowMs })
      .where('orgId', '=', scope.orgId)
      .where('upgradeId', '=', id)
      .where('mxedgeId', '=', anyOf(some.map(({ mxedgeId }) => mxedgeId)))
      .execute()
    const upgrade = await tx
      .selectFrom('mxedgeUpgrade')
      .selectAll()
      .where('orgId', '=', scope.orgId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const note = `${counted(some.length, 'edge appliance was', 'edge appliances were')} ${reason}`
    const status = await updateLosing(tx, upgrade, { targets: some, note, now })
    if (status !== null) ended.push(status)
  }
  return { appliances: targets.length, ended }
}

/** @returns Its status if it has ended. */
async function updateLosing(
  tx: Tx,
  { orgId, id, plan, notes, stopping, stopReason, ...upgrade }: MxedgeUpgrade,
  { targets, note, now }: { readonly targets: readonly ReleasedAppliance[]; readonly note: string; readonly now: Date },
): Promise<WholeEnd | null> {
  const counts = releaseCounts(upgrade.counts, targets)
  const open = [...waitingStates, ...inFlightStates].reduce((sum, state) => sum + counts[state], 0)
  const released = addReleased({ stopping, released: upgrade.released }, targets.length)
  const ends = endAfterRelease(open, counts)
  const outcome =
    ends === 'cancelled'
      ? { status: ends, stopping: ends, stopReason: note }
      : decideOutcome({ stopping, stopReason, plan, released }, counts)
  await tx
    .updateTable('mxedgeUpgrade')
    .set({
      counts: json(counts),
      released,
      plan: json(shrinkPlan(plan, targets)),
      notes: json([...notes, { reason: note }]),
      ...(ends !== null && { ...outcome, hold: null, finishedAt: now }),
    })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
  return ends === null ? null : outcome.status
}
