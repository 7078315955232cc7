import { type JobDecision, type JobNow, type Now, decideNext, decideStop, isHardFailure } from './decide-next.ts'
import { exceedsPercentage } from './decide-stop.ts'

export interface OrgUpgradeNow {
  readonly id: string
  readonly maxFailurePercentage: number | null
  readonly planned: number
  /** Over all its site upgrades, before this round. */
  readonly hardFailures: number
}

/** One round of an org upgrade's site upgrades, or of some of them. */
export interface OrgRound<J> {
  readonly orgUpgradeId: string
  readonly decisions: readonly { readonly job: J; readonly decision: JobDecision }[]
  readonly newFailures: number
  /** Set when the failures of all sites together trip the limit: the other sites must stop too. */
  readonly stopReason: string | null
}

export function decideOrgUpgrade<J extends JobNow>(org: OrgUpgradeNow, jobs: readonly J[], at: Now): OrgRound<J> {
  const alone = jobs.map((job) => ({ job, decision: decideNext(job, at) }))
  const newFailures = countHardFailures(alone)
  const exceeded = exceedsPercentage(org.hardFailures + newFailures, org.maxFailurePercentage, org.planned)
  if (!exceeded || newFailures === 0) return { orgUpgradeId: org.id, decisions: alone, newFailures, stopReason: null }
  const stopReason = `more than ${org.maxFailurePercentage} % of ${org.planned} devices in all sites failed`
  const decisions = jobs.map((job) => ({ job, decision: decideStop(job, stopReason, at) }))
  return { orgUpgradeId: org.id, decisions, newFailures: countHardFailures(decisions), stopReason }
}

function countHardFailures(decisions: readonly { readonly decision: JobDecision }[]): number {
  return decisions.reduce((sum, { decision }) => sum + decision.steps.filter(isHardFailure).length, 0)
}
