import type { UpgradeStatus } from '../rollout/rollout.ts'

interface Whole {
  /** Some of the sites have not ended. */
  readonly runs: boolean
  readonly statuses: readonly UpgradeStatus[]
  /** Some device was upgraded or has failed. */
  readonly hasResults: boolean
}

const ended: ReadonlySet<UpgradeStatus> = new Set(['completed', 'failed', 'cancelled'])

/**
 * Decides the status of a whole upgrade from those of its sites. A site that has nothing to do ends at once, also while the upgrade
 * has yet to begin.
 */
export function decideWholeStatus({
  runs,
  statuses,
  hasResults,
}: Whole): Extract<UpgradeStatus, 'queued' | 'completed' | 'failed' | 'cancelled'> | 'running' {
  if (runs) {
    const hasBegun = hasResults || statuses.some((status) => status !== 'queued' && !ended.has(status))
    return hasBegun ? 'running' : 'queued'
  }
  if (statuses.includes('failed')) return 'failed'
  return statuses.includes('cancelled') ? 'cancelled' : 'completed'
}
