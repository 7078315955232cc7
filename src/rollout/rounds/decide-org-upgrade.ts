import { decideNext, decideStop } from './decide-next.ts'
import type { SiteUpgradeDecision, SiteUpgradeNow, Now } from '../site-upgrade-now.ts'
import { type OrgPhases, type OrgPhasesChange, countOrgPhases, decideOrgPhases } from '../phases/decide-org-phases.ts'
import { type DevicesInUse, type OrgLimits, addBegun, countInUse, findCapacity } from '../phases/decide-capacity.ts'
import { type Hold, ofDownloads } from '../gates/decide-hold.ts'
import { type StartNow, findStartWait, holdOf } from '../gates/decide-wait.ts'
import { isHardFailure } from './decide-step.ts'
import { type PhaseOf, START_PHASE, type UpgradeHold } from '../rollout.ts'
import { exceedsPercentage, findBudgetReason, findPhaseStopReason } from '../stops/decide-stop.ts'

export interface OrgUpgradeNow {
  readonly id: string
  readonly maxFailurePercentage: number | null
  readonly planned: number
  /** The sum over all its site upgrades, before this round. */
  readonly hardFailures: number
  readonly limits: OrgLimits
  /** At all its site upgrades, before this round. */
  readonly inUse: DevicesInUse
  /** Null: it begins without an approval. */
  readonly start: StartNow | null
  /** Null: each site has its own phases. */
  readonly phases: OrgPhases | null
  /** Phases of the downloads. Null: there are none, or each site has its own. */
  readonly downloads: OrgPhases | null
}

/**
 * Returns the phase whose gate pauses the whole upgrade, or the open phase; null: each site has its own. While the start waits, it
 * is the start.
 */
export function findHeldPhase({
  hold,
  phases,
  downloads,
}: Pick<OrgUpgradeNow, 'phases' | 'downloads'> & { readonly hold: UpgradeHold | null }): PhaseOf | null {
  if (hold?.phase === START_PHASE) return { phase: START_PHASE }
  const concerned = hold?.of === 'downloads' ? downloads : phases
  return concerned && { phase: concerned.current, ...(hold?.of && { of: hold.of }) }
}

/** One round of all or some site upgrades of an organization upgrade. */
export interface OrgRound<J> {
  readonly org: OrgUpgradeNow
  readonly decisions: readonly { readonly siteUpgrade: J; readonly decision: SiteUpgradeDecision }[]
  readonly newFailures: number
  /** Set when the failures of all sites together trip the limit, so that the other sites must stop too. */
  readonly stopReason: string | null
  /** Set when the round pauses the upgrade before its start. */
  readonly startHold: UpgradeHold | null
  /** Null: nothing changes in the phases of the whole upgrade, or it has none. */
  readonly phases: OrgPhasesChange | null
  /** The same for the phases of the downloads. */
  readonly downloads: OrgPhasesChange | null
}

/** Returns the pause of the whole upgrade with which the round ends; null: none. */
export function findOrgHold<J>({ startHold, phases, downloads }: OrgRound<J>): Hold | null {
  if (startHold !== null) return { hold: startHold, phase: START_PHASE }
  const paused = phases?.hold ? phases : downloads
  return paused?.hold ? { hold: paused.hold, phase: paused.current } : null
}

export function decideOrgUpgrade<J extends SiteUpgradeNow>(
  org: OrgUpgradeNow,
  siteUpgrades: readonly J[],
  at: Now,
): OrgRound<J> {
  let { inUse } = org
  const startHold = findStartHold(org, siteUpgrades, at)
  const alone = siteUpgrades.map((siteUpgrade) => {
    if (startHold !== null) return { siteUpgrade, decision: decideHeld(siteUpgrade, startHold, at) }
    const capacity = findCapacity(limitsOf(org, siteUpgrade), inUse, countInUse(siteUpgrade.counts))
    const decision = decideNext(siteUpgrade, at, capacity)
    inUse = addBegun(inUse, decision.steps)
    return { siteUpgrade, decision }
  })
  const stopReason = findOrgStopReason(org, alone)
  const decisions =
    stopReason === null
      ? alone
      : siteUpgrades.map((siteUpgrade) => ({ siteUpgrade, decision: decideStop(siteUpgrade, stopReason, at) }))
  const stops = stopReason !== null && { stopping: 'failed' as const }
  // Only one gate pauses the upgrade at a time.
  const heldBefore = startHold ?? org.phases?.hold ?? null
  const phases = org.phases && decidePhases({ ...org.phases, ...stops, hold: heldBefore }, decisions, at)
  const held = startHold ?? phases?.hold ?? org.downloads?.hold ?? null
  const downloads = org.downloads && decidePhases({ ...org.downloads, ...stops, hold: held }, decisions, at)
  return { org, decisions, newFailures: countHardFailures(decisions), stopReason, startHold, phases, downloads }
}

/** Returns the pause of an upgrade that may not begin yet; null: it may, or it is paused already. */
function findStartHold(
  { start }: OrgUpgradeNow,
  siteUpgrades: readonly SiteUpgradeNow[],
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): UpgradeHold | null {
  const wait = findStartWait(start)
  if (wait === null || siteUpgrades.every(({ hold, stopping }) => hold !== null || stopping !== null)) return null
  return holdOf(wait, { now, nowMs })
}

/** The pause is that of the whole upgrade, which the caller writes. */
function decideHeld(siteUpgrade: SiteUpgradeNow, hold: UpgradeHold, at: Now): SiteUpgradeDecision {
  const decision = decideNext({ ...siteUpgrade, hold: siteUpgrade.hold ?? hold }, at)
  return { ...decision, siteUpgrade: { ...decision.siteUpgrade, hold: siteUpgrade.hold } }
}

/** The site upgrade may have its own limit for the downloads. */
function limitsOf({ limits }: OrgUpgradeNow, { plan: { max_downloads: ofSite } }: SiteUpgradeNow): OrgLimits {
  if (ofSite === undefined) return limits
  return { ...limits, maxDownloadsPerSite: Math.min(ofSite, limits.maxDownloadsPerSite ?? Infinity) }
}

function decidePhases(phases: OrgPhases, decisions: Decided, at: Now): OrgPhasesChange | null {
  const steps = stepsOf(decisions)
  const changed = decideOrgPhases(countOrgPhases(phases, steps), at)
  const idle = steps.length === 0 && changed.current === phases.current && changed.hold === null
  return idle ? null : changed
}

type Decided = readonly { readonly decision: SiteUpgradeDecision }[]

/** Returns why all sites must stop after this round; null: they need not. */
function findOrgStopReason(org: OrgUpgradeNow, decided: Decided): string | null {
  const newFailures = countHardFailures(decided)
  if (newFailures === 0) return null
  const overBudget = findBudgetReason(org.hardFailures + newFailures, org.limits)
  if (overBudget !== null) return overBudget
  if (exceedsPercentage(org.hardFailures + newFailures, org.maxFailurePercentage, org.planned))
    return `more than ${org.maxFailurePercentage} % of ${org.planned} devices in all sites failed`
  for (const [phases, words] of [[org.phases], [org.downloads, ofDownloads]] as const) {
    if (phases === null) continue
    const { failures, gates } = countOrgPhases(phases, stepsOf(decided))
    const reason = findPhaseStopReason(failures, gates, words)
    if (reason !== null) return reason
  }
  return null
}

function stepsOf(decided: Decided): SiteUpgradeDecision['steps'] {
  return decided.flatMap(({ decision }) => decision.steps)
}

function countHardFailures(decided: Decided): number {
  return stepsOf(decided).filter(isHardFailure).length
}
