import { identifyVersion } from '../firmware/version-identity.ts'
import { canStage } from '../rollout/decide-order.ts'
import { type OrgPhasePlan, type UpgradeNote, type UpgradePlan, noCounts } from '../rollout/rollout.ts'
import type { RadioFactsByMac } from './radio/radio.ts'
import type { PlanFacts } from './strategies/strategy.ts'
import { type PhasePlan, planPhases } from './plan-phases.ts'
import type { TakenTarget } from '../rollout/plan-takeover.ts'
import type { Candidate, NewOrgUpgrade, NewSiteUpgrade, NewTarget, NewUpgrade } from '../rollout/store-create.ts'
import { encodeJoining } from './plan-joining.ts'
import { noteSnapshots } from './plan-snapshots.ts'
import { INCLUDE_MS, type UpgradeRequest, type UpgradeSite } from './org-upgrade.ts'
import { type DevicePlan, type SiteTimes, noteNothingSelected, summarizeVersions } from './plan-org-upgrade.ts'

export type Planned = DevicePlan<Candidate>

type Upgradable = Extract<Planned, { readonly kind: 'upgrade' | 'skip' }>

/** A device that gets its firmware, as the planning of phases takes it. */
type Selected = Upgradable & Candidate

export interface SiteUpgradeOf {
  readonly site: UpgradeSite
  /** The id of the site upgrade. */
  readonly upgradeId: string
}

export interface UpgradeInputs {
  /** The id of the organization upgrade. */
  readonly id: string
  readonly siteUpgrades: readonly SiteUpgradeOf[]
  /** By site. */
  readonly times: ReadonlyMap<string, SiteTimes>
  readonly plans: readonly Planned[]
  /** By MAC; see PlanFacts. */
  readonly radio: RadioFactsByMac
  /** Ids of the devices that no other upgrade has. */
  readonly claimed: ReadonlySet<string>
  /** Those of them that are taken over from other upgrades. */
  readonly taken?: readonly TakenTarget[]
  readonly now: Date
  /** Service time. */
  readonly nowMs: number
}

/** The whole upgrade, as it is to be written. The same request and inputs give the same plan. */
export function planUpgrade(request: UpgradeRequest, inputs: UpgradeInputs): NewUpgrade {
  const { id, siteUpgrades, times, plans, claimed, radio, nowMs } = inputs
  const plansBySite = Map.groupBy(plans, ({ device }) => device.siteId)
  const selected = siteUpgrades.map(({ site, upgradeId }) => {
    return { upgradeId, targets: selectClaimed(plansBySite.get(site.id) ?? [], claimed) }
  })
  const { org, bySite } = planPhases(selected, { phasing: request.phasing, upgradeId: id, radio })
  const sites = siteUpgrades.flatMap(({ site, upgradeId }): SitePlan[] => {
    const phases = bySite.get(upgradeId)
    const siteTimes = times.get(site.id)
    if (phases === undefined || siteTimes === undefined) return []
    return [{ upgradeId, site, times: siteTimes, plans: plansBySite.get(site.id) ?? [], claimed, phases, nowMs }]
  })
  const targets = sites.flatMap((site) => planTargets(site, request.only?.part === 'activate'))
  return {
    org: planOrg(request, { ...inputs, phasePlan: org, targets }),
    sites: sites.map((site) => planSite(request, site, { upgradeId: id, radio })),
    targets,
  }
}

function selectClaimed(plans: readonly Planned[], claimed: ReadonlySet<string>): Selected[] {
  return plans.flatMap((plan) =>
    plan.kind === 'upgrade' && claimed.has(plan.device.id) ? [{ ...plan, ...plan.device }] : [],
  )
}

interface OrgInputs extends UpgradeInputs {
  readonly phasePlan: OrgPhasePlan | null
  readonly targets: readonly NewTarget[]
}

function planOrg(
  request: UpgradeRequest,
  { id, siteUpgrades, plans, phasePlan, targets, now, nowMs, taken = [] }: OrgInputs,
): NewOrgUpgrade {
  const { kind, strategy, phasing, versions, document } = request
  return {
    id,
    kind,
    request: document,
    strategy,
    targetVersion: summarizeVersions(
      targets.map(({ targetVersion }) => targetVersion),
      versions,
    ),
    force: versions.some(({ force }) => force),
    maxFailurePercentage: phasing.maxFailurePercentage,
    planned: targets.filter(({ state }) => state === 'planned').length,
    phasePlan,
    notes: [...noteNothingSelected(siteUpgrades.length, plans.length), ...phasing.notes, ...noteTaken(taken)],
    joining: request.includeNew ? encodeJoining(request) : null,
    includeDueMs: request.includeNew ? nowMs + INCLUDE_MS : null,
    createdAt: now,
  }
}

function noteTaken(taken: readonly TakenTarget[]): UpgradeNote[] {
  return [...Map.groupBy(taken, ({ orgUpgradeId }) => orgUpgradeId)]
    .map(([id, some]) => ({ reason: `${some.length} devices are taken over from upgrade ${id}` }))
    .toSorted((a, b) => (a.reason < b.reason ? -1 : 1))
}

interface SitePlan extends SiteUpgradeOf {
  readonly times: SiteTimes
  readonly plans: readonly Planned[]
  readonly claimed: ReadonlySet<string>
  readonly phases: PhasePlan<Selected>
  readonly nowMs: number
}

function planSite(request: UpgradeRequest, sitePlan: SitePlan, facts: PlanFacts): NewSiteUpgrade {
  const { upgradeId, site, times, plans, phases, nowMs } = sitePlan
  const planned = phases.targets.length
  const skipped = plans.filter(({ kind }) => kind === 'skip').length
  return {
    id: upgradeId,
    siteId: site.id,
    status: planned === 0 ? 'completed' : 'queued',
    startAt: times.startAt,
    rebootAt: times.rebootAt,
    plan: presentPlan(request, sitePlan),
    counts: { ...noCounts, planned, skipped },
    total: planned + skipped,
    notes: [...noteSite(request, sitePlan), ...noteStrategy(request, sitePlan, facts)],
    // The engine looks at once, and waits for the start by itself.
    dueMs: planned === 0 ? null : nowMs,
  }
}

function presentPlan(request: UpgradeRequest, { phases, times }: SitePlan): UpgradePlan {
  const { strategy, phasing, only, snapshot } = request
  return {
    strategy,
    phase_scope: phasing.scope,
    phases: phases.sizes.length,
    phase_sizes: phasing.scope === 'org' || phases.gates !== null ? phases.sizes : null,
    gates: phases.gates,
    max_failure_percentage: phasing.maxFailurePercentage,
    stages: phases.targets.some(({ target }) => canStage(target)),
    ...(only !== null && { only: only.part }),
    ...(snapshot && { snapshot }),
    planned: phases.targets.length,
    timezone: times.timezone,
    ...(times.windows.length > 0 && { windows: times.windows }),
  }
}

function noteSite(request: UpgradeRequest, { times, plans, claimed }: SitePlan): UpgradeNote[] {
  const busy = plans.filter(({ kind, device }) => kind === 'upgrade' && !claimed.has(device.id))
  return [
    ...times.warnings,
    ...plans.flatMap((plan) => (plan.kind === 'leave_out' ? [{ mac: plan.device.mac, reason: plan.reason }] : [])),
    ...noteSnapshots(
      request,
      plans.filter(({ device }) => claimed.has(device.id)),
    ),
    ...busy.map(({ device }) => ({ mac: device.mac, reason: noteBusy(request) })),
  ]
}

function noteBusy({ supersede }: UpgradeRequest): string {
  return supersede ? 'in another upgrade, which has begun with it' : 'in another upgrade'
}

function noteStrategy({ phasing }: UpgradeRequest, { phases }: SitePlan, facts: PlanFacts): readonly UpgradeNote[] {
  const targets = phases.targets.map(({ target }) => target)
  return targets.length === 0 ? [] : (phasing.noteSite?.(targets, facts) ?? [])
}

function planTargets({ upgradeId, plans, phases }: SitePlan, staged: boolean): NewTarget[] {
  const skipped = plans.flatMap((plan) =>
    plan.kind === 'skip'
      ? [{ ...newTarget(upgradeId, plan), phase: 0, ordinal: 0, staged: false, state: 'skipped' as const }]
      : [],
  )
  const planned = phases.targets.map(({ target, phase, ordinal }) => {
    return { ...newTarget(upgradeId, target), phase, ordinal, staged, state: 'planned' as const }
  })
  return [...planned, ...skipped]
}

function newTarget(
  upgradeId: string,
  { device, entry, force }: Upgradable,
): Omit<NewTarget, 'phase' | 'ordinal' | 'staged' | 'state'> {
  return {
    upgradeId,
    deviceId: device.id,
    mac: device.mac,
    model: device.model,
    imageId: entry.imageId,
    // Under its name in the catalog, so that a device which installs its own version again is seen to do so.
    fromVersion: device.fromVersion && identifyVersion(device.fromVersion, [entry]),
    targetVersion: entry.version,
    reported: entry.reported.length > 0 ? entry.reported : null,
    force,
  }
}
