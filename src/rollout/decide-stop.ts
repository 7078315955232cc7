import type { UpgradePlan } from './rollout.ts'

/** Hard failures by phase number. */
export type FailuresByPhase = Readonly<Record<string, number>>

/**
 * Whether that many failures are more than a percentage tolerates: of 100 targets and 5 %, the sixth is.
 * @param percent Null tolerates everything.
 */
export function exceedsPercentage(failures: number, percent: number | null, targets: number): boolean {
  return percent !== null && 100 * failures > percent * targets
}

/** Why a site upgrade must stop; null: it need not. Limits by phase replace the percentage. */
export function findStopReason(failures: FailuresByPhase, plan: UpgradePlan): string | null {
  const { max_failures: limits, max_failure_percentage: percent, planned } = plan
  if (limits !== null) {
    const index = limits.findIndex((limit, phase) => (failures[phase + 1] ?? 0) > limit)
    return index < 0 ? null : `more than ${limits[index]} failures in phase ${index + 1}`
  }
  const total = Object.values(failures).reduce((sum, count) => sum + count, 0)
  return exceedsPercentage(total, percent, planned) ? `more than ${percent} % of ${planned} devices failed` : null
}
