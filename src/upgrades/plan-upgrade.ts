import { finalVersionOf } from '../rollout/hops.ts'
import { identifyVersion } from '../firmware/version-identity.ts'
import { canStage } from '../rollout/decide-order.ts'
import { type UpgradeNote, noCounts } from '../rollout/rollout.ts'
import { noteRanks, planSiteRanks } from './uplinks/plan-site-ranks.ts'
import type { CabledDevice, Ranks } from './uplinks/plan-ranks.ts'
import type { RadioFactsByMac } from './radio/radio.ts'
import type { PlanFacts } from './strategies/strategy.ts'
import { type PhasePlan, emptyPhases, planPhases } from './plan-phases.ts'
import { type TakenTarget, noteTaken } from '../rollout/plan-takeover.ts'
import type { Candidate, NewOrgUpgrade, NewSiteUpgrade, NewTarget, NewUpgrade } from '../rollout/store-create.ts'
import { type PhasingPlan, planPhasing } from './plan-downloads.ts'
import { noteP2p, noteUnusedP2p } from './plan-p2p.ts'
import { planLaterSites, planSiteP2p, presentPlan } from './present-plan.ts'
import { encodeJoining } from './plan-joining.ts'
import type { LaterSites } from './plan-later-sites.ts'
import { bindTarget, noteHops } from './plan-hops.ts'
import { noteHealth } from './plan-health.ts'
import { noteRollbacks } from './plan-rollbacks.ts'
import { noteSnapshots } from './plan-snapshots.ts'
import { INCLUDE_MS, type UpgradeRequest, type UpgradeSite } from './org-upgrade.ts'
import type { Phasing } from './strategies/strategy.ts'
import { type DevicePlan, type SiteTimes, noteNothingSelected, summarizeVersions } from './plan-org-upgrade.ts'

export type Planned = DevicePlan<Candidate>

type Upgradable = Extract<Planned, { readonly kind: 'upgrade' | 'skip' }>

/** A device with its firmware, in the form that the planning of phases needs. */
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
  /** The devices that report their health, if it is compared. */
  readonly reporting?: ReadonlySet<string>
  /** The switches and gateways of the sites. */
  readonly cabled: readonly CabledDevice[]
  /** Ids of the devices that no other upgrade has. */
  readonly claimed: ReadonlySet<string>
  /** The devices among them that are taken over from other upgrades. */
  readonly taken?: readonly TakenTarget[]
  readonly now: Date
  /** Service time. */
  readonly nowMs: number
}

/** Plans the whole upgrade, in the form to be written. The same request and inputs give the same plan. */
export function planUpgrade(request: UpgradeRequest, inputs: UpgradeInputs): NewUpgrade {
  const { id, siteUpgrades, times, plans, claimed, radio, nowMs } = inputs
  const plansBySite = Map.groupBy(plans, ({ device }) => device.siteId)
  const selected = siteUpgrades.map(({ site, upgradeId }) => {
    return { upgradeId, targets: selectClaimed(plansBySite.get(site.id) ?? [], claimed) }
  })
  const { notes, ...scopes } = planPhasing(request, plans)
  const { phasing, downloads, onlyTwoSteps } = scopes
  const ranks = planSiteRanks(selected, inputs.cabled)
  const siteGroups = new Map(siteUpgrades.map(({ site }) => [site.id, site.groups]))
  const facts = { upgradeId: id, radio, ranks, siteGroups }
  const meant = plans.map(({ device }) => device)
  for (const each of [phasing, downloads]) each?.refuseDevices?.(meant, facts)
  const reboots = planPhases(selected, { phasing, ...facts })
  const apart = selected.map(({ upgradeId, targets: all }) => {
    return { upgradeId, targets: onlyTwoSteps ? all.filter(canStage) : all }
  })
  const loads = downloads === null ? null : planPhases(apart, { phasing: downloads, ...facts })
  const sites = siteUpgrades.flatMap(({ site, upgradeId }): SitePlan[] => {
    const phases = reboots.bySite.get(upgradeId)
    const siteTimes = times.get(site.id)
    if (phases === undefined || siteTimes === undefined) return []
    const mine = {
      reporting: inputs.reporting,
      plans: plansBySite.get(site.id) ?? [],
      claimed,
      phases,
      downloads: loads?.bySite.get(upgradeId) ?? null,
    }
    return [{ upgradeId, site, times: siteTimes, ...mine, scopes, ranks, nowMs }]
  })
  const targets = sites.flatMap((site) => planTargets(site, request.only?.part === 'activate'))
  const limit = phasing.maxFailurePercentage ?? downloads?.maxFailurePercentage ?? null
  const all = { phasePlan: reboots.org, downloadPlan: loads?.org ?? null, maxFailurePercentage: limit }
  const empty = {
    phases: emptyPhases<Selected>(reboots.org, { phasing, ...facts }),
    downloads: downloads && emptyPhases<Selected>(loads?.org ?? null, { phasing: downloads, ...facts }),
  }
  return {
    org: planOrg(request, {
      ...inputs,
      ...all,
      phasing,
      targets,
      laterSites: planLaterSites(request, { ...empty, scopes, maxFailurePercentage: limit }),
      notes: [...phasing.notes, ...notes, ...(request.p2p === null ? [] : noteUnusedP2p(request.p2p))],
    }),
    sites: sites.map((site) => planSite(request, { ...site, maxFailurePercentage: limit }, facts)),
    targets,
  }
}

function selectClaimed(plans: readonly Planned[], claimed: ReadonlySet<string>): Selected[] {
  return plans.flatMap((plan) =>
    plan.kind === 'upgrade' && claimed.has(plan.device.id) ? [{ ...plan, ...plan.device }] : [],
  )
}

interface OrgInputs
  extends UpgradeInputs, Pick<NewOrgUpgrade, 'phasePlan' | 'downloadPlan' | 'maxFailurePercentage' | 'notes'> {
  readonly targets: readonly NewTarget[]
  /** The phasing of the reboots. */
  readonly phasing: Phasing
  readonly laterSites: LaterSites | null
}

function planOrg(
  request: UpgradeRequest,
  {
    id,
    siteUpgrades,
    plans,
    phasePlan,
    downloadPlan,
    maxFailurePercentage,
    targets,
    notes,
    now,
    nowMs,
    taken = [],
    phasing,
    laterSites,
  }: OrgInputs,
): NewOrgUpgrade {
  const { kind, strategy, versions, p2p, document, includeNew } = request
  return {
    id,
    kind,
    request: document,
    strategy,
    targetVersion: summarizeVersions(targets.map(finalVersionOf), versions),
    force: versions.some(({ force }) => force),
    enableP2p: p2p?.isEnabled ?? false,
    maxFailurePercentage,
    planned: targets.filter(({ state }) => state === 'planned').length,
    phasePlan,
    downloadPlan,
    notes: [...noteNothingSelected(siteUpgrades.length, plans.length), ...notes, ...noteTaken(taken)],
    joining: includeNew && encodeJoining({ ...request, phasing }, { selection: includeNew, laterSites }),
    includeDueMs: includeNew && nowMs + INCLUDE_MS,
    createdAt: now,
  }
}

interface SitePlan extends SiteUpgradeOf {
  readonly times: SiteTimes
  readonly plans: readonly Planned[]
  readonly claimed: ReadonlySet<string>
  readonly phases: PhasePlan<Selected>
  /** The phases of the downloads; null: devices download in the phases of their reboots. */
  readonly downloads: PhasePlan<Selected> | null
  readonly scopes: Omit<PhasingPlan, 'notes'>
  readonly ranks: Ranks
  readonly reporting: ReadonlySet<string> | undefined
  readonly nowMs: number
}

interface LimitedSitePlan extends SitePlan {
  readonly maxFailurePercentage: number | null
}

function planSite(request: UpgradeRequest, sitePlan: LimitedSitePlan, facts: PlanFacts): NewSiteUpgrade {
  const { upgradeId, site, times, plans, phases, nowMs } = sitePlan
  const planned = phases.targets.length
  const skipped = plans.filter(({ kind }) => kind === 'skip').length
  const p2p = planSiteP2p(request, sitePlan)
  return {
    id: upgradeId,
    siteId: site.id,
    status: planned === 0 ? 'completed' : 'queued',
    startAt: times.startAt,
    rebootAt: times.rebootAt,
    plan: presentPlan(request, sitePlan),
    counts: { ...noCounts, planned, skipped },
    total: planned + skipped,
    notes: [
      ...noteSite(request, sitePlan),
      ...noteStrategy(sitePlan, facts),
      ...noteRanks(
        phases.targets.map(({ target }) => target),
        sitePlan.ranks,
      ),
      ...(p2p === null ? [] : noteP2p(p2p)),
    ],
    // The engine visits it immediately, and waits for the start by itself.
    dueMs: planned === 0 ? null : nowMs,
  }
}

function noteSite(request: UpgradeRequest, { times, plans, claimed, reporting }: SitePlan): UpgradeNote[] {
  const mine = plans.filter(({ device }) => claimed.has(device.id))
  const busy = plans.filter(({ kind, device }) => kind === 'upgrade' && !claimed.has(device.id))
  return [
    ...times.warnings,
    ...plans.flatMap((plan) => (plan.kind === 'leave_out' ? [{ mac: plan.device.mac, reason: plan.reason }] : [])),
    ...noteSnapshots(request, mine),
    ...noteRollbacks(request, mine),
    ...noteHealth(request, mine, reporting),
    ...noteHops(mine),
    ...busy.map(({ device }) => ({ mac: device.mac, reason: noteBusy(request) })),
  ]
}

function noteBusy({ supersede }: UpgradeRequest): string {
  return supersede ? 'in another upgrade, which has begun with it' : 'in another upgrade'
}

function noteStrategy({ phases, scopes: { phasing } }: SitePlan, facts: PlanFacts): readonly UpgradeNote[] {
  const targets = phases.targets.map(({ target }) => target)
  return targets.length === 0 ? [] : (phasing.noteSite?.(targets, facts) ?? [])
}

function planTargets({ upgradeId, plans, phases, downloads, ranks }: SitePlan, staged: boolean): NewTarget[] {
  const downloadPhases = new Map(downloads?.targets.map(({ target, phase }) => [target, phase]))
  const skipped = plans.flatMap((plan) =>
    plan.kind === 'skip'
      ? [
          {
            ...newTarget(upgradeId, plan),
            phase: 0,
            downloadPhase: null,
            rank: null,
            ordinal: 0,
            staged: false,
            state: 'skipped' as const,
          },
        ]
      : [],
  )
  const planned = phases.targets.map(({ target, phase, ordinal }) => {
    const place = { phase, downloadPhase: downloadPhases.get(target) ?? null, ordinal }
    const rank = ranks.get(target.mac) ?? null
    return { ...newTarget(upgradeId, target), ...place, rank, staged, state: 'planned' as const }
  })
  return [...planned, ...skipped]
}

function newTarget(
  upgradeId: string,
  { device, entry, force, via }: Upgradable,
): Omit<NewTarget, 'phase' | 'downloadPhase' | 'rank' | 'ordinal' | 'staged' | 'state'> {
  return {
    upgradeId,
    deviceId: device.id,
    mac: device.mac,
    model: device.model,
    // Under its name in the catalog, so that a device which installs its own version again is recognized as doing so.
    fromVersion: device.fromVersion && identifyVersion(device.fromVersion, [entry]),
    ...bindTarget(entry, via),
    force,
  }
}
