import { canStage } from '../../rollout/targets/steps/decide-order.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import { type UpgradeNote, noCounts } from '../../rollout/rollout.ts'
import { noteRanks, planSiteRanksInSteps } from '../uplinks/plan-site-ranks.ts'
import type { CabledDevice, Ranks } from '../uplinks/plan-ranks.ts'
import type { RadioFactsByMac } from '../radio/radio.ts'
import type { PlanFacts } from '../strategies/strategy.ts'
import { type SiteTargets, type UpgradePhases, countPlaced, emptyPhases, planPhasesInSteps } from './plan-phases.ts'
import { type TakenTarget, noteTaken } from '../../rollout/changes/plan-takeover.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import type { NewOrgUpgrade, NewSiteUpgrade, NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import { type PhasingPlan, planPhasing } from './plan-downloads.ts'
import { noteP2p, noteUnusedP2p } from './plan-p2p.ts'
import { planLaterSites, planSiteP2p, presentPlan } from '../creation/present-plan.ts'
import { encodeJoining } from './plan-joining.ts'
import type { LaterSites } from './plan-later-sites.ts'
import { noteHops } from './plan-hops.ts'
import { noteUnmet } from './note-unmet.ts'
import { decideSearchPause } from '../decide-search-pause.ts'
import type { UpgradeRequest, UpgradeSite } from '../org-upgrade.ts'
import type { Phasing } from '../strategies/strategy.ts'
import { type PlacedSite, type Planned, type PlannedSite, placeInSteps, planTargets } from './plan-targets.ts'
import { noteNothingSelected, summarizeVersions } from './plan-org-upgrade.ts'
import type { SiteTimes } from './plan-times.ts'

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
  /**
   * The other upgrades that keep selected devices, in words by the ids of the devices. Also of one that runs its version already, if
   * it is to get another one.
   */
  readonly busy: ReadonlyMap<string, string>
  /** The devices that are taken over from other upgrades. */
  readonly taken?: readonly TakenTarget[]
  readonly now: Date
  /** Service time. */
  readonly nowMs: number
}

/** Plans the whole upgrade, in the form to be written. The same request and inputs give the same plan. */
export function* planUpgradeInSteps(request: UpgradeRequest, inputs: UpgradeInputs): Steps<NewUpgrade> {
  const { id, siteUpgrades, plans, radio } = inputs
  const chosen = yield* chooseInSteps(inputs)
  const { selected } = chosen
  const { notes, ...scopes } = planPhasing(request, plans)
  yield
  const { phasing, downloads, onlyTwoSteps } = scopes
  const ranks = yield* planSiteRanksInSteps(selected, inputs.cabled)
  const siteGroups = new Map(siteUpgrades.map(({ site }) => [site.id, site.groups]))
  const facts = { upgradeId: id, radio, ranks, siteGroups }
  const meant = plans.map(({ device }) => device)
  for (const each of [phasing, downloads]) yield* each?.refuseDevicesInSteps?.(meant, facts) ?? []
  yield
  const reboots = yield* planPhasesInSteps(selected, { phasing, ...facts })
  const apart = onlyTwoSteps ? selected.map((site) => ({ ...site, targets: site.targets.filter(canStage) })) : selected
  yield
  const loads = downloads === null ? null : yield* planPhasesInSteps(apart, { phasing: downloads, ...facts })
  const limit = phasing.maxFailurePercentage ?? downloads?.maxFailurePercentage ?? null
  const planned = { ...chosen, reboots, loads, scopes, facts, maxFailurePercentage: limit }
  const { sites, targets } = yield* planSitesInSteps(request, inputs, planned)
  const all = { phasePlan: reboots.org, downloadPlan: loads?.org ?? null, maxFailurePercentage: limit }
  const empty = {
    phases: emptyPhases<Candidate>(reboots.org, { phasing, ...facts }),
    downloads: downloads && emptyPhases<Candidate>(loads?.org ?? null, { phasing: downloads, ...facts }),
  }
  const org = planOrg(request, {
    ...inputs,
    ...all,
    phasing,
    versions: chosen.versions,
    planned: sites.reduce((sum, { counts }) => sum + counts.planned, 0),
    laterSites: planLaterSites(request, { ...empty, scopes, maxFailurePercentage: limit }),
    notes: [...noteUnused(phasing, downloads), ...notes, ...(request.p2p === null ? [] : noteUnusedP2p(request.p2p))],
  })
  return { org, sites, targets }
}

/** The notes of both strategies about the request; they say mostly the same. */
function noteUnused(...phasings: readonly (Phasing | null)[]): UpgradeNote[] {
  const reasons = new Set(phasings.flatMap((each) => each?.notes.map(({ reason }) => reason) ?? []))
  return [...reasons].map((reason) => ({ reason }))
}

interface PlannedPhases extends Chosen {
  readonly reboots: UpgradePhases<Candidate>
  readonly loads: UpgradePhases<Candidate> | null
  readonly scopes: Omit<PhasingPlan, 'notes'>
  readonly facts: PlanFacts & { readonly ranks: Ranks }
  readonly maxFailurePercentage: number | null
}

function* planSitesInSteps(
  request: UpgradeRequest,
  { siteUpgrades, times, busy, reporting, nowMs }: UpgradeInputs,
  { plansBySite, reboots, loads, scopes, facts, maxFailurePercentage }: PlannedPhases,
): Steps<Pick<NewUpgrade, 'sites' | 'targets'>> {
  const sites: NewSiteUpgrade[] = []
  const placed: PlacedSite[] = []
  const all = { reporting, scopes, ranks: facts.ranks, nowMs, maxFailurePercentage }
  for (const { site, upgradeId } of siteUpgrades) {
    const phases = reboots.bySite.get(upgradeId)
    const siteTimes = times.get(site.id)
    if (phases === undefined || siteTimes === undefined) continue
    const downloads = loads?.bySite.get(upgradeId) ?? null
    const mine = { upgradeId, site, times: siteTimes, plans: plansBySite.get(site.id) ?? [], busy, phases, downloads }
    sites.push(yield* planSiteInSteps(request, { ...all, ...mine }, facts))
    placed.push(yield* placeInSteps({ ...mine, ranks: facts.ranks }))
    yield
  }
  const staged = request.only?.part === 'activate'
  return { sites, targets: { [Symbol.iterator]: () => planAllTargets(placed, { staged }) } }
}

function* planAllTargets(sites: readonly PlacedSite[], how: { readonly staged: boolean }): Generator<NewTarget> {
  for (const site of sites) yield* planTargets(site, how)
}

interface Chosen {
  /** By site. */
  readonly plansBySite: ReadonlyMap<string, readonly Planned[]>
  /** The devices that are upgraded. */
  readonly selected: readonly SiteTargets<Candidate>[]
  /** The versions that devices get, or run already. */
  readonly versions: ReadonlySet<string>
}

const PLANS_PER_STEP = 2000

/** Chooses the devices that no other upgrade has. Devices are not copied: together they are most of what planning holds. */
function* chooseInSteps({ siteUpgrades, plans, busy }: UpgradeInputs): Steps<Chosen> {
  const plansBySite = new Map<string, Planned[]>(siteUpgrades.map(({ site }) => [site.id, []]))
  const bySite = new Map<string, Candidate[]>(siteUpgrades.map(({ site }) => [site.id, []]))
  const versions = new Set<string>()
  for (const [index, plan] of plans.entries()) {
    if (index % PLANS_PER_STEP === 0) yield
    const { device } = plan
    plansBySite.get(device.siteId)?.push(plan)
    if (plan.kind === 'leave_out' || busy.has(device.id)) continue
    versions.add(plan.entry.version)
    if (plan.kind === 'upgrade') bySite.get(device.siteId)?.push(device)
  }
  const selected = siteUpgrades.map(({ site, upgradeId }) => ({ upgradeId, targets: bySite.get(site.id) ?? [] }))
  return { plansBySite, selected, versions }
}

interface OrgInputs
  extends
    UpgradeInputs,
    Pick<NewOrgUpgrade, 'phasePlan' | 'downloadPlan' | 'maxFailurePercentage' | 'notes' | 'planned'>,
    Pick<Chosen, 'versions'> {
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
    versions: found,
    planned,
    notes,
    now,
    nowMs,
    taken = [],
    phasing,
    laterSites,
  }: OrgInputs,
): NewOrgUpgrade {
  const { kind, strategy, versions, p2p, document, includeNew, endsAt } = request
  return {
    id,
    kind,
    request: document,
    strategy,
    targetVersion: summarizeVersions(found, versions),
    force: versions.some(({ force }) => force),
    enableP2p: p2p?.isEnabled ?? false,
    maxFailurePercentage,
    planned,
    phasePlan,
    downloadPlan,
    notes: [...noteNothingSelected(siteUpgrades.length, plans.length), ...notes, ...noteTaken(taken)],
    joining: includeNew && encodeJoining({ ...request, phasing }, { selection: includeNew, laterSites }),
    includeDueMs: includeNew && nowMs + decideSearchPause(endsAt, now),
    endsAt,
    createdAt: now,
  }
}

interface SitePlan extends SiteUpgradeOf, PlannedSite {
  readonly times: SiteTimes
  readonly scopes: Omit<PhasingPlan, 'notes'>
  readonly reporting: ReadonlySet<string> | undefined
  readonly nowMs: number
}

interface LimitedSitePlan extends SitePlan {
  readonly maxFailurePercentage: number | null
}

function* planSiteInSteps(request: UpgradeRequest, sitePlan: LimitedSitePlan, facts: PlanFacts): Steps<NewSiteUpgrade> {
  const { upgradeId, site, times, plans, busy, phases, nowMs } = sitePlan
  const planned = countPlaced(phases)
  const skipped = plans.filter(({ kind, device }) => kind === 'skip' && !busy.has(device.id)).length
  const p2p = planSiteP2p(request, sitePlan)
  yield
  const models = listKeeping(plans)
  const plan = { ...presentPlan(request, sitePlan), ...(models.length > 0 && { keeps_higher: models }) }
  yield
  const notes = noteSite(request, sitePlan)
  yield
  return {
    id: upgradeId,
    siteId: site.id,
    status: planned === 0 ? 'completed' : 'queued',
    startAt: times.startAt,
    rebootAt: times.rebootAt,
    plan,
    counts: { ...noCounts, planned, skipped },
    total: planned + skipped,
    notes: [
      ...notes,
      ...noteStrategy(sitePlan, facts),
      ...(sitePlan.ranks.size === 0 ? [] : noteRanks(phases.phases.flat(), sitePlan.ranks)),
      ...(p2p === null ? [] : noteP2p(p2p)),
    ],
    // The engine visits it immediately, and waits for the start by itself.
    dueMs: planned === 0 ? null : nowMs,
  }
}

/** Lists the models whose devices keep a higher version. */
function listKeeping(plans: SitePlan['plans']): readonly string[] {
  const keeping = plans.filter((plan) => plan.kind === 'upgrade' && plan.keepsHigher === true)
  return [...new Set(keeping.map(({ device }) => device.model))]
}

function noteSite(request: UpgradeRequest, { times, plans, busy: others, reporting }: SitePlan): UpgradeNote[] {
  const mine = plans.filter(({ kind, device }) => kind === 'upgrade' && !others.has(device.id))
  return [
    ...times.warnings,
    ...plans.flatMap((plan) => (plan.kind === 'leave_out' ? [{ mac: plan.device.mac, reason: plan.reason }] : [])),
    ...noteUnmet(request, mine, reporting),
    ...noteHops(mine),
    ...plans.flatMap(({ device }) => noteBusy(request, device, others.get(device.id))),
  ]
}

/** @param holder The other upgrade that keeps the device, in words; undefined: none does. */
function noteBusy(
  { supersede }: UpgradeRequest,
  { mac }: Pick<Candidate, 'mac'>,
  holder: string | undefined,
): UpgradeNote[] {
  if (holder === undefined) return []
  const reason = supersede ? `in ${holder}, which has begun with it` : `in ${holder}`
  return [{ mac, kind: 'in_another_upgrade', reason }]
}

function noteStrategy({ phases, scopes: { phasing } }: SitePlan, facts: PlanFacts): readonly UpgradeNote[] {
  return countPlaced(phases) === 0 ? [] : (phasing.noteSite?.(phases.phases.flat(), facts) ?? [])
}
