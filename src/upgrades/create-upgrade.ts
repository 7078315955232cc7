import { uuidv7 } from 'uuidv7'
import { type InOrg, type SitesScope, siteIdOf } from '../access/scope.ts'
import { type DeviceEventInput, appendAudit, appendDeviceEvents } from '../events/append.ts'
import { listVersions, lockImages } from '../firmware/store.ts'
import type { Context } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { showProgress } from '../rollout/fwupdate.ts'
import { updateFwUpdates } from '../devices/stats/store-fwupdates.ts'
import { type Candidate, type NewUpgrade, insertUpgrade, listCandidates } from '../rollout/store-create.ts'
import { type ActiveTarget, insertActiveTargets, listStagedImages } from '../devices/commands/store-upgrades.ts'
import type { UpgradeRequest, UpgradeSite } from './org-upgrade.ts'
import {
  type StagedImages,
  limitToPart,
  planDevices,
  planTimes,
  refuseDownloadStrategy,
  refuseModelsNotIn,
  refuseReboots,
  refuseUnknownDevices,
  refuseUnknownSites,
} from './plan-org-upgrade.ts'
import { type Planned, type SiteUpgradeOf, planUpgrade } from './plan-upgrade.ts'
import { shareUpgradeSites, listKnownModels } from './store.ts'

/**
 * Plans an upgrade of the selected devices and writes it: once `tx` commits, the rollout engine carries it out. Each site
 * has one site upgrade, even if there is nothing to do. Devices that can't be upgraded, or that are in another upgrade,
 * are left out and noted.
 *
 * @throws AppError invalid for sites, devices, models, versions and times that can't be; nothing is changed then.
 */
export async function createUpgrade(
  ctx: Context,
  tx: Tx,
  scope: SitesScope,
  request: UpgradeRequest,
): Promise<CreatedUpgrade> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const sites = await shareUpgradeSites(tx, scope, request.siteIds)
  refuseUnknownSites(request.siteIds, sites)
  await refuseUnknownModels(tx, scope, request)
  const times = planTimes(request, sites, now)
  const candidates = await listCandidates(
    tx,
    scope,
    sites.map(({ id }) => id),
  )
  refuseUnknownDevices(request, candidates)
  const wanted = planDevices(request, candidates, await listVersions(tx, scope))
  const plans = limitToPart(request.only, wanted, await listStaged(tx, scope, { request, plans: wanted }))
  refuseDownloadStrategy(request, plans)
  refuseReboots(request, plans)
  await shareImages(tx, scope, plans)
  const orgUpgradeId = uuidv7()
  const siteUpgrades = sites.map((site) => ({ site, upgradeId: uuidv7() }))
  const claimed = await insertActiveTargets(tx, scope, listWanted(plans, { orgUpgradeId, siteUpgrades }))
  const upgrade = planUpgrade(request, { id: orgUpgradeId, siteUpgrades, times, plans, claimed, now, nowMs })
  await insertUpgrade(tx, scope, upgrade)
  await appendCreation(tx, scope, { upgrade, candidates, sites, now })
  return { ...upgrade, plans }
}

/** What was written, and the plan for each device that was selected. */
export interface CreatedUpgrade extends NewUpgrade {
  readonly plans: readonly Planned[]
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

function listWanted(
  plans: readonly Planned[],
  { orgUpgradeId, siteUpgrades }: { readonly orgUpgradeId: string; readonly siteUpgrades: readonly SiteUpgradeOf[] },
): ActiveTarget[] {
  const upgradeIds = new Map(siteUpgrades.map(({ site, upgradeId }) => [site.id, upgradeId]))
  return plans.flatMap((plan) => {
    const upgradeId = upgradeIds.get(plan.device.siteId)
    if (plan.kind !== 'upgrade' || upgradeId === undefined) return []
    return [{ deviceId: plan.device.id, upgradeId, orgUpgradeId, imageId: plan.entry.imageId }]
  })
}

/** An image that is being deleted concurrently counts as missing. */
async function shareImages(tx: Tx, scope: InOrg, plans: readonly Planned[]): Promise<void> {
  const imageIds = [...new Set(plans.flatMap((plan) => (plan.kind === 'upgrade' ? [plan.entry.imageId] : [])))]
  const held = await lockImages(tx, scope, imageIds)
  if (held.length < imageIds.length)
    throw new AppError('conflict', 'A firmware image of this upgrade has just been deleted')
}

interface Creation {
  readonly upgrade: NewUpgrade
  readonly candidates: readonly Candidate[]
  readonly sites: readonly UpgradeSite[]
  readonly now: Date
}

async function appendCreation(tx: Tx, scope: SitesScope, { upgrade, candidates, sites, now }: Creation): Promise<void> {
  const { org, targets } = upgrade
  const auditId = await appendAudit(tx, scope, {
    message: `Upgrade ${org.planned} devices to ${org.targetVersion}`,
    siteId: siteIdOf(scope),
    after: { id: org.id, ...org.request, ...(org.notes.length > 0 && { notes: org.notes }) },
    at: now,
  })
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const devices = new Map(candidates.map((device) => [device.id, device]))
  const planned = targets.filter(({ state }) => state === 'planned')
  const deviceEvents = planned.flatMap(({ deviceId, targetVersion }): DeviceEventInput[] => {
    const device = devices.get(deviceId)
    if (device === undefined) return []
    const siteName = names.get(device.siteId) ?? null
    return [{ device: { ...device, siteName }, what: 'UPGRADE_BY_USER', auditId, text: `to ${targetVersion}` }]
  })
  await appendDeviceEvents(tx, scope, deviceEvents, now)
  await updateFwUpdates(
    tx,
    scope,
    planned.flatMap(({ deviceId, state }) => showProgress(deviceId, state, 0) ?? []),
    now,
  )
  wakeAfterCommit(tx, 'rollouts')
}
