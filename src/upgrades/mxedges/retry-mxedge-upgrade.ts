import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { appendMxedgeUpgradeChange } from '../../mxedges/upgrades/append-change.ts'
import { lockImages } from '../../firmware/store.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import { lockCandidates } from '../../mxedges/upgrades/store-create.ts'
import { type MxedgeUpgrade, type MxedgeUpgradeTarget, lockUpgrade } from '../../mxedges/upgrades/store-records.ts'
import { beginTargetRuns, listRetriable, reopenUpgrade } from '../../mxedges/upgrades/store-retry.ts'
import { shareOrg } from '../../orgs/store.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { counted } from '../../platform/counted.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { presentMxedgeIds } from '../../rollout/events/present-named.ts'
import { refuseRetryAtEnd } from '../../rollout/stops/decide-end.ts'
import { ofAppliances } from '../../rollout/gates/decide-hold.ts'
import { findStopReason } from '../../rollout/stops/decide-stop.ts'
import { nameUpgrade } from '../../rollout/events/name-upgrade.ts'
import { findRetryRefusal, planReopening } from '../../rollout/changes/plan-retry.ts'
import type { SkippedAppliance } from './skipped-appliance.ts'

export interface MxedgeRetry {
  /** The number of appliances that are retried. */
  readonly retried: number
  /** Failed appliances that are not retried. */
  readonly skipped: readonly SkippedAppliance[]
}

/**
 * Retries failed appliances of an upgrade, running or ended, as another run of their targets. They continue with the
 * step that failed. Without a failed appliance nothing changes.
 * @param mxedgeIds Null: all failed appliances.
 * @throws AppError not_found; invalid after the end of the upgrade, for an appliance that has not failed, and if the remaining failures exceed a
 *   limit, which would immediately stop the upgrade again. Nothing is changed then.
 */
export function retryMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id, mxedgeIds }: { readonly id: string; readonly mxedgeIds: readonly string[] | null },
): Promise<MxedgeRetry> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const upgrade = await lockUpgrade(tx, scope, id)
    refuseRetryAtEnd(upgrade.plan, now)
    const wanted = await listRetriable(tx, upgrade, mxedgeIds)
    if (mxedgeIds !== null) refuseNotFailed(mxedgeIds, wanted)
    const { retried, skipped } = await selectPossible(tx, scope, { upgrade, wanted })
    if (retried.length === 0) return { retried: 0, skipped }
    const change = planReopening(upgrade, retried, { nowMs, hold: null })
    const limit = findStopReason(change.hardFailures, upgrade.plan, ofAppliances)
    if (limit !== null) throw new AppError('invalid', `The upgrade would stop again at once: ${limit}`)
    const retrying = { retried_at: epochS(now), retried_by: scope.actor.name }
    await beginTargetRuns(tx, scope, retried, { retrying, nowMs })
    await reopenUpgrade(tx, upgrade, { reopening: change, nowMs })
    await appendMxedgeUpgradeChange(tx, scope, {
      id,
      type: 'UPGRADE_RETRIED',
      message: `Retry ${counted(retried.length, 'failed edge appliance')} of upgrade ${id}`,
      siteId: upgrade.siteId ?? siteIdOf(scope),
      after: presentMxedgeIds(retried.map(({ mxedgeId }) => mxedgeId)),
      at: now,
    })
    wakeAfterCommit(tx, 'mxedges')
    return { retried: retried.length, skipped }
  })
}

function refuseNotFailed(ids: readonly string[], found: readonly MxedgeUpgradeTarget[]): void {
  const byId = new Map(found.map((target) => [target.mxedgeId, target]))
  for (const [index, id] of ids.entries()) {
    const target = byId.get(id)
    if (target === undefined)
      throw invalidField(`mxedge_ids.${index}`, `${id} is not an edge appliance of this upgrade`)
    if (target.state !== 'failed')
      throw invalidField(`mxedge_ids.${index}`, `${id} has not failed, its state is ${target.state}`)
  }
}

interface Wanted {
  readonly upgrade: MxedgeUpgrade
  readonly wanted: readonly MxedgeUpgradeTarget[]
}

/** The appliances stay locked until `tx` ends. */
async function selectPossible(tx: Tx, scope: PlaceScope, { upgrade, wanted }: Wanted) {
  const ids = wanted.map(({ mxedgeId }) => mxedgeId)
  const candidates = await lockCandidates(tx, scope, { siteId: upgrade.siteId, ids })
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]))
  const packages = [...new Set(wanted.flatMap(packagesOf))]
  const images = new Set(await lockImages(tx, scope, packages))
  const checked = wanted.map((target) => {
    const hasPackages = packagesOf(target).every((image) => images.has(image))
    const reason =
      findRetryRefusal(upgrade, 'the upgrade') ??
      findApplianceRefusal(target, byId.get(target.mxedgeId)) ??
      (hasPackages ? null : 'a package of it was deleted')
    return { target, reason }
  })
  return {
    retried: checked.flatMap(({ target, reason }) => (reason === null ? [target] : [])),
    skipped: checked.flatMap(({ target, reason }) => (reason === null ? [] : [{ mxedgeId: target.mxedgeId, reason }])),
  }
}

function findApplianceRefusal(
  { registrationEpoch }: Pick<MxedgeUpgradeTarget, 'registrationEpoch'>,
  candidate: Candidate | undefined,
): string | null {
  if (candidate === undefined) return 'removed, or moved to another site'
  if (candidate.registrationEpoch !== registrationEpoch) return 'replaced by another appliance'
  const { upgradeId, upgradeName } = candidate
  return upgradeId === null ? null : nameUpgrade(`in upgrade ${upgradeId}`, upgradeId, upgradeName)
}

/** The packages of the steps that are still to be done. */
function packagesOf({ steps, step }: Pick<MxedgeUpgradeTarget, 'steps' | 'step'>): string[] {
  return steps.slice(step).flatMap((each) => ('service' in each ? [each.image_id] : []))
}
