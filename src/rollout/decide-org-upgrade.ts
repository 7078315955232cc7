import { type SiteUpgradeDecision, type SiteUpgradeNow, type Now, decideNext, decideStop } from './decide-next.ts'
import { type OrgPhases, type OrgPhasesChange, countOrgPhases, decideOrgPhases } from './decide-org-phases.ts'
import { type DevicesInUse, type OrgLimits, addBegun, countInUse, findCapacity } from './decide-capacity.ts'
import { isHardFailure } from './decide-step.ts'
import { exceedsPercentage, findBudgetReason, findPhaseStopReason } from './decide-stop.ts'

export interface OrgUpgradeNow {
  readonly id: string
  readonly maxFailurePercentage: number | null
  readonly planned: number
  /** The sum over all its site upgrades, before this round. */
  readonly hardFailures: number
  readonly limits: OrgLimits
  /** At all its site upgrades, before this round. */
  readonly inUse: DevicesInUse
  /** Null: each site has phases of its own. */
  readonly phases: OrgPhases | null
}

/** One round of all or some site upgrades of an organization upgrade. */
export interface OrgRound<J> {
  readonly org: OrgUpgradeNow
  readonly decisions: readonly { readonly siteUpgrade: J; readonly decision: SiteUpgradeDecision }[]
  readonly newFailures: number
  /** Set when the failures of all sites together trip the limit, so that the other sites must stop too. */
  readonly stopReason: string | null
  /** Null: nothing changes in the phases of the whole upgrade, or it has none. */
  readonly phases: OrgPhasesChange | null
}

export function decideOrgUpgrade<J extends SiteUpgradeNow>(
  org: OrgUpgradeNow,
  siteUpgrades: readonly J[],
  at: Now,
): OrgRound<J> {
  let { inUse } = org
  const alone = siteUpgrades.map((siteUpgrade) => {
    const capacity = findCapacity(org.limits, inUse, countInUse(siteUpgrade.counts))
    const decision = decideNext(siteUpgrade, at, capacity)
    inUse = addBegun(inUse, decision.steps)
    return { siteUpgrade, decision }
  })
  const stopReason = findOrgStopReason(org, alone)
  const decisions =
    stopReason === null
      ? alone
      : siteUpgrades.map((siteUpgrade) => ({ siteUpgrade, decision: decideStop(siteUpgrade, stopReason, at) }))
  const phases = org.phases && { ...org.phases, ...(stopReason !== null && { stopping: 'failed' as const }) }
  const changed = phases && decidePhases(phases, decisions, at)
  return { org, decisions, newFailures: countHardFailures(decisions), stopReason, phases: changed }
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
  if (org.phases === null) return null
  const { failures, gates } = countOrgPhases(org.phases, stepsOf(decided))
  return findPhaseStopReason(failures, gates)
}

function stepsOf(decided: Decided): SiteUpgradeDecision['steps'] {
  return decided.flatMap(({ decision }) => decision.steps)
}

function countHardFailures(decided: Decided): number {
  return stepsOf(decided).filter(isHardFailure).length
}
