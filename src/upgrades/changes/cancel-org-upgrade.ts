import type { OrgScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isSearching } from '../../rollout/changes/store-inclusion.ts'
import { appendEndOfSearch, appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentInFlight } from '../../rollout/events/present-named.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { stopSiteUpgrades } from '../../rollout/stops/store.ts'
import { lockOrgUpgrade } from '../store.ts'

/**
 * Stops an upgrade. After the commit no device is commanded and none gets its image any more. Devices that have the
 * image finish, and the audit record names them. Of an upgrade that has ended, nothing changes except that it searches for no
 * further devices.
 *
 * @throws AppError not_found
 */
export async function cancelOrgUpgrade(
  ctx: Context,
  scope: OrgScope,
  id: string,
  kind: UpgradeKind = 'device',
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await lockOrgUpgrade(tx, scope, { id, kind })
    const wasSearching = await isSearching(tx, scope, { orgUpgradeId: id })
    const { siteUpgrades, inFlight } = await stopSiteUpgrades(tx, scope, id, {
      becomes: 'cancelled',
      reason: `cancelled by ${scope.actor.name}`,
      at,
      nowMs: ctx.serviceClock.nowMs(),
    })
    if (siteUpgrades === 0) {
      if (wasSearching) await appendEndOfSearch(tx, scope, { upgradeId: id, at })
      return
    }
    const cancelled = { type: 'UPGRADE_CANCELLED', upgrade_id: id, message: `Cancel upgrade ${id}` } as const
    await appendUpgradeChange(tx, scope, { ...cancelled, after: presentInFlight(inFlight) }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}
