import { counted } from '../../platform/counted.ts'
import type { PlaceScope } from '../../access/scope.ts'
import { appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { type ReleasedMxedges, updateReleased } from '../../mxedges/upgrades/store-release.ts'
import type { TakenAppliance } from '../../mxedges/upgrades/store-takeover.ts'
import type { NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import type { Tx } from '../../platform/database/db.ts'
import { presentMxedgeIds } from '../../rollout/events/present-named.ts'
import { takeoverMessage, takeoverReason } from '../../rollout/changes/plan-takeover.ts'

interface Takeover {
  readonly upgrade: Pick<NewUpgrade, 'id' | 'request'>
  readonly taken: readonly TakenAppliance[]
}

/** Takes appliances over from their upgrades, which the caller has locked. */
export async function takeOver(
  tx: Tx,
  scope: PlaceScope,
  { upgrade, taken }: Takeover,
  at: { readonly now: Date; readonly nowMs: number },
): Promise<ReleasedMxedges> {
  const reason = takeoverReason(upgrade)
  const released = await updateReleased(tx, scope, taken, { reason, ...at })
  for (const [loser, some] of Map.groupBy(taken, ({ orgUpgradeId }) => orgUpgradeId)) {
    await appendMxedgeUpgradeChange(tx, scope, {
      id: loser,
      type: 'UPGRADE_MXEDGES_TAKEN',
      message: takeoverMessage(upgrade, counted(some.length, 'edge appliance'), loser),
      after: { ...presentMxedgeIds(some.map(({ mxedgeId }) => mxedgeId)), reason },
      at: at.now,
    })
  }
  return released
}
