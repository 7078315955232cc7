import type { UpgradePlan } from './rollout.ts'

/** Counts of devices by phase number. */
export type CountsByPhase = Readonly<Record<string, number>>

/** Hard failures by phase number. */
export type FailuresByPhase = CountsByPhase

/**
 * Whether that many failures are more than a percentage tolerates: of 100 targets and 5 %, the sixth is.
 * @param percent Null tolerates everything.
 */
export function exceedsPercentage(failures: number, percent: number | null, targets: number): boolean {
  return percent !== null && 100 * failures > percent * targets
}

/** Why more failed in a phase than its limit tolerates; null: nowhere. */
export function findPhaseStopReason(failures: FailuresByPhase, limits: readonly number[] | null): string | null {
  const index = limits?.findIndex((limit, phase) => (failures[phase + 1] ?? 0) > limit) ?? -1
  return index < 0 ? null : `more than ${limits?.[index]} failures in phase ${index + 1}`
}

/**
 * Why a site upgrade must stop; null: it need not. Limits by phase replace the percentage. Those of phases of the whole
 * upgrade are not of a site: decideOrgUpgrade() compares them with the failures of all sites.
 */
export function findStopReason(failures: FailuresByPhase, plan: UpgradePlan): string | null {
  const { phase_scope: scope, max_failures: limits, max_failure_percentage: percent, planned } = plan
  if (limits !== null) return scope === 'site' ? findPhaseStopReason(failures, limits) : null
  const total = Object.values(failures).reduce((sum, count) => sum + count, 0)
  return exceedsPercentage(total, percent, planned) ? `more than ${percent} % of ${planned} devices failed` : null
}
