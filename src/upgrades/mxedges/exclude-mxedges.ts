import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { cancelQueuedById } from '../../mxedges/commands/store-cancel.ts'
import { appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { findExclusionRefusal } from '../../mxedges/upgrades/decide-exclusion.ts'
import { countReleasedMxedges } from '../../mxedges/upgrades/metrics.ts'
import { type NamedAppliance, listNamed } from '../../mxedges/upgrades/store-exclusion.ts'
import { type MxedgeUpgrade, lockUpgrade } from '../../mxedges/upgrades/store-records.ts'
import { updateReleased } from '../../mxedges/upgrades/store-release.ts'
import { counted } from '../../platform/counted.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { invalidField } from '../../platform/errors.ts'
import { exclusionReason } from '../../rollout/changes/plan-exclusion.ts'
import { presentMxedgeIds } from '../../rollout/events/present-named.ts'
import type { SkippedAppliance } from './skipped-appliance.ts'

export interface MxedgeExclusion {
  /** The number of appliances that the upgrade has lost. */
  readonly excluded: number
  readonly skipped: readonly SkippedAppliance[]
}

/**
 * Excludes appliances from an upgrade that is not installing on them. They count as cancelled and are free for another
 * upgrade; what they have installed stays. Without such an appliance nothing changes.
 * @throws AppError not_found; invalid for an appliance that is not in the upgrade. Nothing is changed then.
 */
export async function excludeMxedges(
  ctx: Context,
  scope: PlaceScope,
  { id, mxedgeIds, note }: { readonly id: string; readonly mxedgeIds: readonly string[]; readonly note: string | null },
): Promise<MxedgeExclusion> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const { lost, ...exclusion } = await inTx(ctx, async (tx) => {
    const upgrade = await lockUpgrade(tx, scope, id)
    const named = await withdraw(tx, scope, { upgrade, mxedgeIds, now })
    refuseUnknown(mxedgeIds, named)
    const checked = named.map((target) => ({ target, reason: findExclusionRefusal(target) }))
    const released = checked.flatMap(({ target, reason }) => (reason === null ? [target] : []))
    const skipped = checked.flatMap(({ target, reason }) =>
      reason === null ? [] : [{ mxedgeId: target.mxedgeId, reason }],
    )
    if (released.length === 0) return { lost: null, excluded: 0, skipped }
    const reason = exclusionReason(scope.actor.name, note)
    const lost = await updateReleased(tx, scope, released, { reason, now, nowMs })
    await appendMxedgeUpgradeChange(tx, scope, {
      id,
      type: 'UPGRADE_MXEDGES_EXCLUDED',
      message: `Exclude ${counted(released.length, 'edge appliance')} from upgrade ${id}`,
      siteId: upgrade.siteId ?? siteIdOf(scope),
      after: {
        ...presentMxedgeIds(released.map(({ mxedgeId }) => mxedgeId)),
        ...(note !== null && { reason: note }),
      },
      at: now,
    })
    wakeAfterCommit(tx, 'mxedges')
    return { lost, excluded: released.length, skipped }
  })
  if (lost !== null) countReleasedMxedges(ctx.metrics, lost)
  return exclusion
}

interface Withdrawal {
  readonly upgrade: MxedgeUpgrade
  readonly mxedgeIds: readonly string[]
  readonly now: Date
}

/** Withdraws the queued commands of the appliances. @returns Their targets afterwards. */
async function withdraw(tx: Tx, scope: PlaceScope, { upgrade, mxedgeIds, now }: Withdrawal): Promise<NamedAppliance[]> {
  const named = await listNamed(tx, upgrade, mxedgeIds)
  const ids = named.flatMap(({ commandId, commandState }) =>
    commandId !== null && commandState === 'queued' ? [commandId] : [],
  )
  if (ids.length === 0) return named
  await cancelQueuedById(tx, scope, { ids, at: now })
  return listNamed(tx, upgrade, mxedgeIds)
}

function refuseUnknown(mxedgeIds: readonly string[], named: readonly NamedAppliance[]): void {
  const known = new Set(named.map(({ mxedgeId }) => mxedgeId))
  for (const [index, id] of mxedgeIds.entries())
    if (!known.has(id)) throw invalidField(`mxedge_ids.${index}`, `${id} is not an edge appliance of this upgrade`)
}
