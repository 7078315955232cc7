import { isDeepStrictEqual } from 'node:util'
import { type PlaceScope, coversOrg, siteIdOf } from '../../access/scope.ts'
import { appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { countMxedgeHold, countReleasedMxedges } from '../../mxedges/upgrades/metrics.ts'
import { deleteTargets, replaceUpgrade } from '../../mxedges/upgrades/store-create.ts'
import { type MxedgeUpgrade, lockUpgrade, updateRequest } from '../../mxedges/upgrades/store-records.ts'
import type { ReleasedMxedges } from '../../mxedges/upgrades/store-release.ts'
import { lockUnfinishedUpgrades } from '../../mxedges/upgrades/store-takeover.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { takeOver } from './take-over.ts'
import { pauseOver } from '../../rollout/gates/approvals.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { appendRequest, planUpgrade } from './create-mxedge-upgrade.ts'
import type { MxedgeUpgradeRequest, MxedgeUpgradeRevision } from './request.ts'

/**
 * Changes the name of an upgrade at any time, and anything else of one that has not begun, which is planned again.
 * @param revise Applies the change to the request of the upgrade.
 * @throws AppError not_found; conflict for a new plan once it has begun or was cancelled; invalid as for a new one, and at a site
 *   for one of the organization, whose request may select appliances of any site.
 */
export async function updateMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id, revise }: { readonly id: string; readonly revise: (upgrade: MxedgeUpgrade) => MxedgeUpgradeRevision },
): Promise<void> {
  const replanned = await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    // It may take over appliances of other upgrades, which all transactions lock in the same order.
    await lockUnfinishedUpgrades(tx, scope)
    const upgrade = await lockUpgrade(tx, scope, id)
    const { status, stopping, siteId } = upgrade
    if (siteId === null && !coversOrg(scope))
      throw new AppError(
        'invalid',
        "The upgrade can't be changed at this site, because it was created in the organization: this needs access to it",
      )
    const { document, request } = revise(upgrade)
    if (request === null) {
      await rename(ctx, tx, scope, { upgrade, document })
      return null
    }
    if (status !== 'queued' || stopping !== null)
      throw new AppError(
        'conflict',
        `The upgrade is ${stopping ?? status}; only the name of one that is not queued can be changed`,
      )
    return replan(ctx, tx, scope, { upgrade, request })
  })
  if (replanned === null) return
  countReleasedMxedges(ctx.metrics, replanned.released)
  if (replanned.began !== null) countMxedgeHold(ctx.metrics, replanned.began)
}

/** Keeps the plan with its approvals. */
async function rename(
  ctx: Context,
  tx: Tx,
  scope: PlaceScope,
  { upgrade, document }: Pick<MxedgeUpgradeRevision, 'document'> & { readonly upgrade: MxedgeUpgrade },
): Promise<void> {
  const { id, siteId, request: before } = upgrade
  if (isDeepStrictEqual(before, document)) return
  await updateRequest(tx, upgrade, document)
  await appendMxedgeUpgradeChange(tx, scope, {
    ...{ id, type: 'UPGRADE_CHANGED', at: ctx.clock.now(), siteId: siteId ?? siteIdOf(scope) },
    message: `Rename upgrade ${id} of edge appliances`,
    before: { name: before['name'] ?? null },
    after: { name: document['name'] ?? null },
  })
}

interface Replanned {
  readonly released: ReleasedMxedges
  /** The pause that has begun by it. */
  readonly began: UpgradeHold | null
}

async function replan(
  ctx: Context,
  tx: Tx,
  scope: PlaceScope,
  { upgrade, request }: { readonly upgrade: MxedgeUpgrade; readonly request: MxedgeUpgradeRequest },
): Promise<Replanned> {
  const { id, siteId, hold } = upgrade
  const at = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  await deleteTargets(tx, scope, id)
  const planned = await planUpgrade(tx, scope, { id, siteId, request, now: at, nowMs })
  const released = await takeOver(tx, scope, planned, { now: at, nowMs })
  const { plan, joining, hold: wait } = planned.upgrade
  // A pause by a person goes on, unless nothing is left to pause and nothing joins.
  const isPaused = hold?.by === 'user' && (plan.planned > 0 || joining !== null)
  const revised = isPaused ? { ...planned.upgrade, hold: pauseOver(hold, wait) } : planned.upgrade
  await replaceUpgrade(tx, scope, revised, { at, nowMs })
  await appendRequest(tx, scope, {
    ...planned,
    upgrade: revised,
    type: 'UPGRADE_CHANGED',
    message: `Change upgrade ${id} to`,
    at,
  })
  return { released, began: hold === null ? revised.hold : null }
}
