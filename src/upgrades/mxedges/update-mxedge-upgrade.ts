import { type PlaceScope, coversOrg } from '../../access/scope.ts'
import { deleteTargets, replaceUpgrade } from '../../mxedges/upgrades/store-create.ts'
import { lockUpgrade } from '../../mxedges/upgrades/store-records.ts'
import { lockUnfinishedUpgrades } from '../../mxedges/upgrades/store-takeover.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { takeOver } from './take-over.ts'
import { appendRequest, planUpgrade } from './create-mxedge-upgrade.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/**
 * Changes an upgrade that has not begun, and plans it again.
 * @param parse Parses the changed request.
 * @throws AppError not_found; conflict once it has begun or was cancelled; invalid as for a new one, and at a site for one of the
 *   organization, whose request may select appliances of any site.
 */
export async function updateMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  {
    id,
    parse,
  }: {
    readonly id: string
    readonly parse: (before: Readonly<Record<string, unknown>>) => MxedgeUpgradeRequest
  },
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    // It may take over appliances of other upgrades, which all transactions lock in the same order.
    await lockUnfinishedUpgrades(tx, scope)
    const { status, stopping, siteId, hold, request: before } = await lockUpgrade(tx, scope, id)
    if (siteId === null && !coversOrg(scope))
      throw new AppError(
        'invalid',
        "The upgrade can't be changed at this site, because it was created in the organization: this needs access to it",
      )
    if (status !== 'queued' || stopping !== null)
      throw new AppError('conflict', `The upgrade is ${stopping ?? status}; only one that is queued can be changed`)
    await deleteTargets(tx, scope, id)
    const nowMs = ctx.serviceClock.nowMs()
    const planned = await planUpgrade(tx, scope, { id, siteId, request: parse(before), now: at, nowMs })
    await takeOver(tx, scope, planned, { now: at, nowMs })
    const { plan, joining } = planned.upgrade
    // A pause by a person goes on, unless nothing is left to pause and nothing joins.
    const isPaused = hold?.by === 'user' && (plan.planned > 0 || joining !== null)
    const upgrade = isPaused ? { ...planned.upgrade, hold } : planned.upgrade
    await replaceUpgrade(tx, scope, upgrade, { at, nowMs })
    await appendRequest(tx, scope, {
      ...planned,
      upgrade,
      type: 'UPGRADE_CHANGED',
      message: `Change upgrade ${id} to`,
      at,
    })
  })
}
