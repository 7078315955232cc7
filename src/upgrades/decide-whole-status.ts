import type { UpgradeStatus } from '../rollout/rollout.ts'

/**
 * Decides the status of a whole upgrade from those of its sites.
 * @param runs Some of them have not ended.
 */
export function decideWholeStatus(
  runs: boolean,
  statuses: readonly UpgradeStatus[],
): Extract<UpgradeStatus, 'queued' | 'completed' | 'failed' | 'cancelled'> | 'running' {
  if (runs) return statuses.every((status) => status === 'queued') ? 'queued' : 'running'
  if (statuses.includes('failed')) return 'failed'
  return statuses.includes('cancelled') ? 'cancelled' : 'completed'
}
