import type { SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { isSearching } from '../../rollout/changes/store-inclusion.ts'
import { appendEndOfSearch, appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { presentInFlight } from '../../rollout/events/present-named.ts'
import { stopSiteUpgrades } from '../../rollout/stops/store.ts'
import { lockOrgUpgrade } from '../store.ts'
import { getOrgUpgradeId } from './store.ts'

/**
 * Stops one site upgrade, as cancelOrgUpgrade() stops all of them: the other sites of its organization upgrade go on.
 * @throws AppError not_found
 */
export async function cancelSiteUpgrade(ctx: Context, scope: SiteScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const orgUpgradeId = await getOrgUpgradeId(tx, scope, id)
    await lockOrgUpgrade(tx, scope, { id: orgUpgradeId, kind: 'device' })
    const wasSearching = await isSearching(tx, scope, { orgUpgradeId, only: id })
    const { siteUpgrades, inFlight } = await stopSiteUpgrades(tx, scope, orgUpgradeId, {
      becomes: 'cancelled',
      reason: `cancelled by ${scope.actor.name}`,
      at,
      nowMs: ctx.serviceClock.nowMs(),
      only: [id],
    })
    if (siteUpgrades === 0) {
      if (wasSearching) await appendEndOfSearch(tx, scope, { upgradeId: orgUpgradeId, siteId: scope.siteId, at })
      return
    }
    const place = { upgrade_id: orgUpgradeId, site_upgrade_id: id, site_id: scope.siteId }
    const message = `Cancel site upgrade ${id}`
    const after = { site_upgrade_id: id, ...presentInFlight(inFlight) }
    await appendUpgradeChange(tx, scope, { type: 'UPGRADE_CANCELLED', ...place, message, after }, at)
    wakeAfterCommit(tx, 'rollouts')
  })
}
