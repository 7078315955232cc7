import type { UpgradeStatus } from './rollout.ts'

/** As a part of the whole. `released`: it was cancelled, but only because it has lost all its devices, so nothing has stopped it. */
export type PartStatus = UpgradeStatus | 'released'

interface Whole {
  /** Some of the sites have not ended. */
  readonly runs: boolean
  readonly statuses: readonly PartStatus[]
  /** Some device was upgraded or has failed. */
  readonly hasResults: boolean
}

export type WholeEnd = Extract<UpgradeStatus, 'completed' | 'failed' | 'cancelled'>

const ended: ReadonlySet<PartStatus> = new Set(['completed', 'failed', 'cancelled', 'released'])

/**
 * Decides the status of a whole upgrade from those of its sites. A site that has nothing to do ends at once, also while the upgrade
 * has yet to begin.
 */
export function decideWholeStatus(whole: Whole): WholeEnd | 'queued' | 'running' {
  const { runs, statuses, hasResults } = whole
  if (!runs) return decideWholeEnd(whole)
  const hasBegun = hasResults || statuses.some((status) => status !== 'queued' && !ended.has(status))
  return hasBegun ? 'running' : 'queued'
}

/** Decides it from the ends of the sites. An upgrade without any result that has lost devices has completed nothing. */
export function decideWholeEnd({ statuses, hasResults }: Omit<Whole, 'runs'>): WholeEnd {
  if (statuses.includes('failed')) return 'failed'
  if (statuses.includes('cancelled')) return 'cancelled'
  return statuses.includes('released') && !hasResults ? 'cancelled' : 'completed'
}
