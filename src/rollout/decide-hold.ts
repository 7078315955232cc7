import { type FailuresByPhase, exceedsPercentage } from './decide-stop.ts'
import type { UpgradePlan } from './rollout.ts'

/**
 * Why the next phase must not open by itself; null: it may. Of a small first phase all devices may fail
 * without exceeding what the whole upgrade tolerates. Limits by phase have stopped it by then.
 *
 * @param phase The one that has ended, from 1.
 */
export function findHoldReason(
  phase: number,
  failures: FailuresByPhase,
  { phase_sizes: sizes, max_failure_percentage: percent }: Pick<UpgradePlan, 'phase_sizes' | 'max_failure_percentage'>,
): string | null {
  if (sizes === null) return null
  const failed = failures[phase] ?? 0
  const size = sizes[phase - 1] ?? 0
  return exceedsPercentage(failed, percent, size)
    ? `${failed} of ${size} devices of phase ${phase} failed, more than ${percent} %`
    : null
}
