import { counted } from '../../platform/counted.ts'
import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { decideOutcome } from '../../rollout/rounds/decide-outcome.ts'
import {
  endAfterTakeover,
  releaseTaken,
  shrinkPhases,
  takeFromCounts,
  takeoverReason,
} from '../../rollout/changes/plan-takeover.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { type MxedgeStep, inFlightStates, waitingStates } from './upgrade.ts'
import type { MxedgeUpgrade } from './store-records.ts'

/** Locks the upgrades of the organization that have not ended, in the order of their ids, as the worker does. */
export async function lockUnfinishedUpgrades(tx: Tx, scope: InOrg): Promise<void> {
  await tx
    .selectFrom('mxedgeUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('finishedAt', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** An appliance that was not commanded yet in the upgrade that it is part of. */
export interface TakenAppliance {
  readonly mxedgeId: string
  /** The id of the upgrade. */
  readonly orgUpgradeId: string
  readonly phase: number
  readonly state: 'planned' | 'deferred'
  /** What the upgrade has yet to install. */
  readonly steps: readonly MxedgeStep[]
}

/** Lists those of the appliances that another upgrade may take over. The caller has locked their upgrades. */
export async function listTakeable(tx: Tx, scope: InOrg, mxedgeIds: readonly string[]): Promise<TakenAppliance[]> {
  const { rows } = await sql<TakenAppliance & { readonly step: number }>`
    select mxedge_id, upgrade_id as org_upgrade_id, phase, state, steps, step from mxedge_upgrade_target
    where org_id = ${scope.orgId} and mxedge_id = ${anyOf(mxedgeIds)} and command_id is null
      and state in ('planned', 'deferred')
    order by mxedge_id
  `.execute(tx)
  return rows.map(({ step, ...target }) => Object.assign(target, { steps: target.steps.slice(step) }))
}

/** Cancels the targets in the upgrades that lose them, and ends upgrades without further ones. */
export async function updateTakenOver(
  tx: Tx,
  scope: InOrg,
  taken: readonly TakenAppliance[],
  { by, now, nowMs }: { readonly by: string; readonly now: Date; readonly nowMs: number },
): Promise<void> {
  for (const [id, some] of Map.groupBy(taken, ({ orgUpgradeId }) => orgUpgradeId)) {
    await tx
      .updateTable('mxedgeUpgradeTarget')
      .set({ state: 'cancelled', reason: takeoverReason(by), retryAtMs: null, enteredMs: nowMs })
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
    const reason = `${counted(some.length, 'edge appliance was', 'edge appliances were')} ${takeoverReason(by)}`
    await updateLosing(tx, upgrade, { taken: some, reason, now })
  }
}

async function updateLosing(
  tx: Tx,
  { orgId, id, plan, notes, stopping, stopReason, ...upgrade }: MxedgeUpgrade,
  { taken, reason, now }: { readonly taken: readonly TakenAppliance[]; readonly reason: string; readonly now: Date },
): Promise<void> {
  const counts = takeFromCounts(upgrade.counts, taken)
  const open = [...waitingStates, ...inFlightStates].reduce((sum, state) => sum + counts[state], 0)
  const released = releaseTaken({ stopping, released: upgrade.released }, taken.length)
  const ends = endAfterTakeover(open, counts)
  const outcome =
    ends === 'cancelled'
      ? { status: ends, stopping: ends, stopReason: reason }
      : decideOutcome({ stopping, stopReason, plan, released }, counts)
  await tx
    .updateTable('mxedgeUpgrade')
    .set({
      counts: json(counts),
      released,
      plan: json({ ...plan, phase_sizes: shrinkPhases(plan.phase_sizes, taken) }),
      notes: json([...notes, { reason }]),
      ...(ends !== null && { ...outcome, hold: null, finishedAt: now }),
    })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}
