import { uuidv7 } from 'uuidv7'
import type { OrgScope } from '../access/scope.ts'
import { type DeviceHappening, appendAudit, appendDeviceEvents } from '../events/append.ts'
import { listVersions, lockImages } from '../firmware/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { showProgress } from '../rollout/fwupdate.ts'
import { planPhases } from '../rollout/plan-phases.ts'
import { type UpgradeNote, noCounts } from '../rollout/rollout.ts'
import { saveFwUpdates } from '../rollout/store-apply.ts'
import {
  type Candidate,
  type NewSiteUpgrade,
  type NewTarget,
  type NewUpgrade,
  insertUpgrade,
  listCandidates,
  takeDevices,
} from '../rollout/store-create.ts'
import type { OrgUpgrade, OrgUpgradeRequest, UpgradeSite } from './org-upgrade.ts'
import {
  type DevicePlan,
  type SiteTimes,
  noteNothingSelected,
  planDevices,
  planTimes,
  refuseModelsNotIn,
  refuseUnknownSites,
  summarizeVersions,
} from './plan-org-upgrade.ts'
import { getOrgUpgrade, holdUpgradeSites, listKnownModels } from './store.ts'

type Planned = DevicePlan<Candidate>

/**
 * Plans an upgrade of the selected devices and commits it: from here on the rollout engine carries it
 * out. One site upgrade a site, though it may have nothing to do. Devices that can't be upgraded, or
 * that another upgrade has, are left out and noted.
 *
 * @throws AppError invalid for sites, models, versions and times that can't be; nothing is changed then.
 */
export async function createOrgUpgrade(ctx: Context, scope: OrgScope, request: OrgUpgradeRequest): Promise<OrgUpgrade> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  return inTx(ctx, async (tx) => {
    const sites = await holdUpgradeSites(tx, scope, request.siteIds)
    refuseUnknownSites(request.siteIds, sites)
    await refuseUnknownModels(tx, scope, request)
    const times = planTimes(request, sites, now)
    const candidates = await listCandidates(
      tx,
      scope,
      sites.map(({ id }) => id),
    )
    const plans = planDevices(request, candidates, await listVersions(tx, scope, {}))
    await holdImages(tx, scope, plans)
    const jobs = sites.map((site) => ({ site, upgradeId: uuidv7(), times: times.get(site.id) }))
    const upgradeIds = new Map(jobs.map(({ site, upgradeId }) => [site.id, upgradeId]))
    const wanted = plans.flatMap(({ kind, device }) => {
      const upgradeId = upgradeIds.get(device.siteId)
      return kind === 'upgrade' && upgradeId !== undefined ? [{ deviceId: device.id, upgradeId }] : []
    })
    const taken = await takeDevices(tx, scope, wanted)
    const bySite = Map.groupBy(plans, ({ device }) => device.siteId)
    const planned = jobs.flatMap(({ site, upgradeId, times }) =>
      times === undefined
        ? []
        : [planSite(request, { upgradeId, site, times, plans: bySite.get(site.id) ?? [], taken, nowMs })],
    )
    const notes = [...noteNothingSelected(sites.length, plans.length), ...request.notes]
    const upgrade = assemble(request, { planned, notes, now })
    await insertUpgrade(tx, scope, upgrade)
    await announce(tx, scope, { upgrade, candidates, sites, now })
    return getOrgUpgrade(tx, scope, upgrade.org.id)
  })
}

async function refuseUnknownModels(tx: Tx, scope: OrgScope, { models }: OrgUpgradeRequest): Promise<void> {
  const names = models.map(({ model }) => model)
  refuseModelsNotIn(models, await listKnownModels(tx, scope, names))
}

/** An image that is being deleted at this moment is as good as gone. */
async function holdImages(tx: Tx, scope: OrgScope, plans: readonly Planned[]): Promise<void> {
  const imageIds = [...new Set(plans.flatMap((plan) => (plan.kind === 'upgrade' ? [plan.entry.imageId] : [])))]
  const held = await lockImages(tx, scope, imageIds)
  if (held.length < imageIds.length)
    throw new AppError('conflict', 'a firmware image of this upgrade has just been deleted')
}

interface SitePlan {
  readonly upgradeId: string
  readonly site: UpgradeSite
  readonly times: SiteTimes
  readonly plans: readonly Planned[]
  readonly taken: ReadonlySet<string>
  /** Service time. */
  readonly nowMs: number
}

interface PlannedSite {
  readonly upgrade: NewSiteUpgrade
  readonly targets: readonly NewTarget[]
}

function planSite(request: OrgUpgradeRequest, { upgradeId, site, times, plans, taken, nowMs }: SitePlan): PlannedSite {
  const busy = plans.filter(({ kind, device }) => kind === 'upgrade' && !taken.has(device.id))
  const mine = plans.flatMap((plan) =>
    plan.kind === 'upgrade' && taken.has(plan.device.id) ? [{ ...plan, ...plan.device }] : [],
  )
  const skipped = plans.flatMap((plan) => (plan.kind === 'skip' ? [newTarget(upgradeId, plan, 'skipped')] : []))
  const { strategy, canaryPercents, maxFailures, maxFailurePercentage } = request
  const { sizes, targets } = planPhases(mine, { upgradeId, strategy, canaryPercents })
  const notes: UpgradeNote[] = [
    ...times.warnings,
    ...plans.flatMap((plan) => (plan.kind === 'leave_out' ? [{ mac: plan.device.mac, reason: plan.reason }] : [])),
    ...busy.map(({ device }) => ({ mac: device.mac, reason: 'in another upgrade' })),
  ]
  const upgrade: NewSiteUpgrade = {
    id: upgradeId,
    siteId: site.id,
    status: targets.length === 0 ? 'completed' : 'queued',
    startAt: times.startAt,
    rebootAt: times.rebootAt,
    plan: {
      strategy,
      phases: sizes.length,
      canary_phases: strategy === 'canary' ? canaryPercents : null,
      phase_sizes: strategy === 'canary' ? sizes : null,
      max_failures: maxFailures,
      max_failure_percentage: maxFailures === null ? maxFailurePercentage : null,
      planned: targets.length,
      timezone: times.timezone,
    },
    counts: { ...noCounts, planned: targets.length, skipped: skipped.length },
    total: targets.length + skipped.length,
    notes,
    // The engine looks at once, and waits for the start by itself.
    dueMs: targets.length === 0 ? null : nowMs,
  }
  const placed = targets.map(({ target, phase, ordinal }) => newTarget(upgradeId, target, { phase, ordinal }))
  return { upgrade, targets: [...placed, ...skipped] }
}

function newTarget(
  upgradeId: string,
  { device, entry, force }: Extract<Planned, { readonly kind: 'upgrade' | 'skip' }>,
  place: { readonly phase: number; readonly ordinal: number } | 'skipped',
): NewTarget {
  return {
    upgradeId,
    deviceId: device.id,
    mac: device.mac,
    model: device.model,
    ...(place === 'skipped' ? { phase: 0, ordinal: 0 } : place),
    imageId: entry.imageId,
    fromVersion: device.fromVersion,
    targetVersion: entry.version,
    force,
    state: place === 'skipped' ? 'skipped' : 'planned',
  }
}

interface Assembly {
  readonly planned: readonly PlannedSite[]
  readonly notes: readonly UpgradeNote[]
  readonly now: Date
}

function assemble(request: OrgUpgradeRequest, { planned, notes, now }: Assembly): NewUpgrade {
  const targets = planned.flatMap((site) => site.targets)
  const { strategy, versions, maxFailures, maxFailurePercentage, document } = request
  return {
    org: {
      id: uuidv7(),
      request: document,
      strategy,
      targetVersion: summarizeVersions(
        targets.map(({ targetVersion }) => targetVersion),
        versions,
      ),
      force: versions.some(({ force }) => force),
      maxFailurePercentage: maxFailures === null ? maxFailurePercentage : null,
      planned: targets.filter(({ state }) => state === 'planned').length,
      notes,
      createdAt: now,
    },
    sites: planned.map(({ upgrade }) => upgrade),
    targets,
  }
}

interface Announcement {
  readonly upgrade: NewUpgrade
  readonly candidates: readonly Candidate[]
  readonly sites: readonly UpgradeSite[]
  readonly now: Date
}

async function announce(tx: Tx, scope: OrgScope, { upgrade, candidates, sites, now }: Announcement): Promise<void> {
  const { org, targets } = upgrade
  const auditId = await appendAudit(tx, scope, {
    message: `Upgrade ${org.planned} devices to ${org.targetVersion}`,
    after: { id: org.id, ...org.request, ...(org.notes.length > 0 && { notes: org.notes }) },
    at: now,
  })
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const devices = new Map(candidates.map((device) => [device.id, device]))
  const planned = targets.filter(({ state }) => state === 'planned')
  const happenings = planned.flatMap(({ deviceId, targetVersion }): DeviceHappening[] => {
    const device = devices.get(deviceId)
    if (device === undefined) return []
    const siteName = names.get(device.siteId) ?? null
    return [{ device: { ...device, siteName }, what: 'UPGRADE_BY_USER', auditId, text: `to ${targetVersion}` }]
  })
  await appendDeviceEvents(tx, scope, happenings, now)
  await saveFwUpdates(
    tx,
    scope,
    planned.flatMap(({ deviceId, state }) => showProgress(deviceId, state, 0) ?? []),
    now,
  )
  wakeAfterCommit(tx, 'rollouts')
}
