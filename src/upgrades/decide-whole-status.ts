import type { UpgradeStatus } from '../rollout/rollout.ts'

/** Decides the status of a whole upgrade from those of its sites, once all of them have ended. */
export function decideWholeStatus(
  runs: boolean,
  statuses: readonly UpgradeStatus[],
): Extract<UpgradeStatus, 'completed' | 'failed' | 'cancelled'> | 'running' {
  if (runs) return 'running'
  if (statuses.includes('failed')) return 'failed'
  return statuses.includes('cancelled') ? 'cancelled' : 'completed'
}
