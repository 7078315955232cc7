import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isSearching } from '../../rollout/changes/store-inclusion.ts'
import { appendEndOfSearch, appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentInFlight } from '../../rollout/events/present-named.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { stopSiteUpgrades } from '../../rollout/stops/store.ts'
import { lockChanged } from './lock-changed.ts'

/**
 * Stops an upgrade. After the commit no device is commanded and none gets its image any more. Devices that have the
 * image finish, and the audit record names them. Of an upgrade that has ended, nothing changes except that it searches for no
 * further devices. At a site, only its own part stops: the other sites go on.
 *
 * @throws AppError not_found
 */
export async function cancelOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  named: string,
  kind: UpgradeKind = 'device',
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { id, part, place } = await lockChanged(tx, scope, { id: named, kind })
    const wasSearching = await isSearching(tx, scope, { orgUpgradeId: id, only: part?.id ?? null })
    const { siteUpgrades, inFlight } = await stopSiteUpgrades(tx, scope, id, {
      becomes: 'cancelled',
      reason: `cancelled by ${scope.actor.name}`,
      at,
      nowMs: ctx.serviceClock.nowMs(),
      ...(part !== null && { only: [part.id] }),
    })
    if (siteUpgrades === 0) {
      if (wasSearching) await appendEndOfSearch(tx, scope, { upgradeId: id, siteId: part?.siteId ?? null, at })
      return
    }
    const message = part === null ? `Cancel upgrade ${id}` : `Cancel site upgrade ${part.id}`
    const after = { ...(part !== null && { site_upgrade_id: part.id }), ...presentInFlight(inFlight) }
    await appendUpgradeChange(tx, scope, { type: 'UPGRADE_CANCELLED', ...place, message, after }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}
