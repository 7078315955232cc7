import type { UpgradePlan } from '../rollout.ts'

/** Counts of devices by phase number. */
export type CountsByPhase = Readonly<Record<string, number>>

/** Hard failures by phase number. */
export type FailuresByPhase = CountsByPhase

/**
 * True if this number of failures exceeds the tolerated percentage: of 100 targets and 5 %, the sixth does.
 * @param percent Null tolerates everything.
 */
export function exceedsPercentage(failures: number, percent: number | null, targets: number): boolean {
  return percent !== null && 100 * failures > percent * targets
}

/** Returns why the failures at all sites together must stop an upgrade; null: they need not. */
export function findBudgetReason(
  failures: number,
  { failureBudget }: { readonly failureBudget: number | null },
): string | null {
  if (failureBudget === null || failures <= failureBudget) return null
  return `more than ${failureBudget} ${failureBudget === 1 ? 'failure' : 'failures'} in all sites, the failure_budget`
}

/** Returns why more targets failed in a phase than its gate tolerates; null: in none. */
export function findPhaseStopReason(
  failures: FailuresByPhase,
  gates: UpgradePlan['gates'],
  words: { readonly phase: string } = { phase: 'phase' },
): string | null {
  const exceeded = gates?.findIndex((gate, index) => {
    const limit = gate?.max_failures ?? null
    return limit !== null && (failures[index + 1] ?? 0) > limit
  })
  if (exceeded === undefined || exceeded < 0) return null
  const limit = gates?.[exceeded]?.max_failures
  return `more than ${limit} ${limit === 1 ? 'failure' : 'failures'} in ${words.phase} ${exceeded + 1}`
}

/**
 * Returns why an upgrade must stop; null: it need not. The gates of the whole upgrade of an organization are not among
 * those of its site upgrades: decideOrgUpgrade() compares them with the failures of all sites.
 */
export function findStopReason(
  failures: FailuresByPhase,
  plan: Pick<UpgradePlan, 'gates' | 'max_failure_percentage' | 'planned'>,
  { units }: { readonly units: string } = { units: 'devices' },
): string | null {
  const { gates, max_failure_percentage: percent, planned } = plan
  const reason = findPhaseStopReason(failures, gates)
  if (reason !== null) return reason
  const total = Object.values(failures).reduce((sum, count) => sum + count, 0)
  return exceedsPercentage(total, percent, planned) ? `more than ${percent} % of ${planned} ${units} failed` : null
}
