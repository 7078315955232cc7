import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { type AssignedDevice, listStagedImages } from '../../devices/commands/store-upgrades.ts'
import { listVersions, lockImages } from '../../firmware/store.ts'
import { listWindows } from '../../orgs/org-settings/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { inTurns, nextTurn } from '../../platform/queues/next-turn.ts'
import { splitImages } from '../../rollout/targets/hops/hops.ts'
import { type Candidate, listCandidates } from '../../rollout/store-candidates.ts'
import { isChangedFrom } from '../../rollout/changes/plan-takeover.ts'
import { listVersionChanges } from '../../rollout/changes/store-takeover.ts'
import { listReporting } from '../../rollout/targets/health/store.ts'
import type { RadioFactsByMac } from '../radio/radio.ts'
import { listRadioFacts } from '../radio/store.ts'
import type { UpgradeRequest, UpgradeSite } from '../org-upgrade.ts'
import type { CabledDevice } from '../uplinks/plan-ranks.ts'
import { listCabledDevices } from '../uplinks/store.ts'
import {
  type StagedImages,
  limitToPart,
  planDevicesInSteps,
  refuseModelsNotIn,
  refuseOtherTypes,
  refuseReboots,
  refuseUnknownDevices,
  refuseUnknownSites,
} from '../planning/plan-org-upgrade.ts'
import { refuseEnd } from '../planning/plan-end.ts'
import { planTimes } from '../planning/plan-times.ts'
import { listDistinctImages, listImages } from '../planning/plan-hops.ts'
import { refuseP2p } from '../planning/plan-p2p.ts'
import { refuseHealth } from '../planning/plan-health.ts'
import { refuseRollback } from '../planning/plan-rollbacks.ts'
import { refuseSnapshot } from '../planning/plan-snapshots.ts'
import { addWindows, limitToWindows } from '../planning/plan-windows.ts'
import type { Planned } from '../planning/plan-targets.ts'
import type { UpgradeInputs } from '../planning/plan-upgrade.ts'
import { listKnownModels, shareUpgradeSites } from '../store.ts'

/** All that planUpgradeInSteps() needs, except the devices that other upgrades have. Its plans are in the order of their ids. */
export interface PreparedUpgrade extends Omit<UpgradeInputs, 'busy'> {
  readonly sites: readonly UpgradeSite[]
  readonly candidates: readonly Candidate[]
}

/**
 * Reads the facts for the plan of an upgrade, and decides about each device. Until `tx` ends the sites and images can't
 * be deleted.
 * @throws AppError invalid for impossible sites, devices, models, versions and times.
 */
export async function prepareUpgrade(
  ctx: Context,
  tx: Tx,
  scope: SitesScope,
  request: UpgradeRequest,
): Promise<PreparedUpgrade> {
  const now = ctx.clock.now()
  const sites = await shareUpgradeSites(tx, scope, request.siteIds)
  refuseUnknownSites(request.siteIds, sites)
  await refuseUnknownModels(tx, scope, request)
  const siteIds = sites.map(({ id }) => id)
  const times = addWindows(request, planTimes(request, sites, now), await listWindows(tx, scope, siteIds))
  refuseEnd(request, [...times.values()], now)
  const candidates = await listCandidates(tx, scope, siteIds)
  refuseUnknownDevices(request, candidates)
  const decided = await inTurns(planDevicesInSteps(request, candidates, await listVersions(tx, scope)))
  const parts = limitToPart(request.only, decided, await listStaged(tx, scope, { request, plans: decided }))
  const plans = limitToWindows(request, parts, times)
  await nextTurn()
  refuseReboots(request, plans)
  refuseOtherTypes(request, plans)
  refuseSnapshot(request, plans)
  refuseRollback(request, plans)
  const reporting = await listReportingDevices(tx, scope, { request, plans })
  refuseHealth(request, plans, reporting)
  if (request.p2p !== null) refuseP2p(request.p2p, plans)
  await nextTurn()
  await shareImages(tx, scope, plans)
  const id = request.planId ?? uuidv7()
  const radio = await listRadio(tx, scope, { request, plans, now })
  const cabled = await listCabled(tx, scope, plans)
  await nextTurn()
  const siteUpgrades = sites.map((site) => ({ site, upgradeId: uuidv7() }))
  return {
    id,
    sites,
    siteUpgrades,
    candidates,
    times,
    plans,
    reporting,
    radio,
    cabled,
    now,
    nowMs: ctx.serviceClock.nowMs(),
  }
}

async function refuseUnknownModels(tx: Tx, scope: SitesScope, { models }: UpgradeRequest): Promise<void> {
  const names = models.map(({ model }) => model)
  refuseModelsNotIn(models, await listKnownModels(tx, scope, names))
}

async function listStaged(
  tx: Tx,
  scope: InOrg,
  { request, plans }: { readonly request: UpgradeRequest; readonly plans: readonly Planned[] },
): Promise<StagedImages> {
  if (request.only?.part !== 'activate') return new Map()
  const ids = plans.map(({ device }) => device.id)
  return listStagedImages(tx, scope, ids)
}

function listReportingDevices(
  tx: Tx,
  scope: InOrg,
  { request, plans }: { readonly request: UpgradeRequest; readonly plans: readonly Planned[] },
): Promise<ReadonlySet<string>> | ReadonlySet<string> {
  return request.health ? listReporting(tx, scope, listUpgraded(plans)) : new Set()
}

async function listRadio(
  tx: Tx,
  scope: InOrg,
  { request, plans, now }: { readonly request: UpgradeRequest; readonly plans: readonly Planned[]; readonly now: Date },
): Promise<RadioFactsByMac> {
  if (request.phasing.onlyType !== 'ap') return new Map()
  return listRadioFacts(tx, scope, { deviceIds: listUpgraded(plans), now })
}

/** Sites with only access points need none. */
async function listCabled(tx: Tx, scope: InOrg, plans: readonly Planned[]): Promise<CabledDevice[]> {
  const others = plans.filter(({ kind, device }) => kind === 'upgrade' && device.type !== 'ap')
  return listCabledDevices(tx, scope, [...new Set(others.map(({ device }) => device.siteId))])
}

/** Lists the devices that would be upgraded, also those that another upgrade has. */
export function listUpgraded(plans: readonly Planned[]): string[] {
  return plans.flatMap(({ kind, device }) => (kind === 'upgrade' ? [device.id] : []))
}

/** Lists the devices that run their version already, but that another upgrade is to give another one. */
export async function listDiverted(tx: Tx, scope: InOrg, plans: readonly Planned[]): Promise<readonly string[]> {
  const current = plans.flatMap((plan) => (plan.kind === 'skip' ? [plan] : []))
  if (current.length === 0) return []
  const changes = await listVersionChanges(
    tx,
    scope,
    current.map(({ device }) => device.id),
  )
  return current.flatMap(({ device, entry }) => {
    const change = changes.get(device.id)
    return change !== undefined && isChangedFrom(entry.version, change) ? [device.id] : []
  })
}

/** Returns a function that lists how devices would be assigned to the upgrade, also those that another one has. */
export function createAssignments({
  id: orgUpgradeId,
  siteUpgrades,
}: Pick<PreparedUpgrade, 'id' | 'siteUpgrades'>): (plans: readonly Planned[]) => AssignedDevice[] {
  const upgradeIds = new Map(siteUpgrades.map(({ site, upgradeId }) => [site.id, upgradeId]))
  return (plans) =>
    plans.flatMap((plan) => {
      const upgradeId = upgradeIds.get(plan.device.siteId)
      if (plan.kind !== 'upgrade' || upgradeId === undefined) return []
      return [{ deviceId: plan.device.id, upgradeId, orgUpgradeId, ...splitImages(listImages(plan)) }]
    })
}

/** An image that is being deleted concurrently counts as missing. */
async function shareImages(tx: Tx, scope: InOrg, plans: readonly Planned[]): Promise<void> {
  const imageIds = listDistinctImages(plans)
  const held = await lockImages(tx, scope, imageIds)
  if (held.length < imageIds.length)
    throw new AppError('conflict', 'A firmware image of this upgrade has just been deleted')
}
