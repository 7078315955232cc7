import { type Target, type TargetStatus, orderByState, reasonOf, targetStatuses } from '../../upgrade.ts'
import type { TargetSearch } from './target-search.ts'

/** Devices in one state; those that failed or were left out are grouped by the cause, too. */
export interface TargetGroup {
  readonly status: TargetStatus
  /** Empty for a state that needs no cause. */
  readonly cause: string
  readonly count: number
}

const BY_CAUSE = new Set<TargetStatus>(['failed', 'left_out'])

function causeOf(target: Target): string {
  return BY_CAUSE.has(target.status) ? (reasonOf(target) ?? '') : ''
}

/** Returns the devices of the shown site; those of all sites if `at` is undefined. */
export function targetsAt(targets: readonly Target[], at: string | undefined): readonly Target[] {
  return at === undefined ? targets : targets.filter(({ site_id: siteId }) => siteId === at)
}

/** Groups devices: failures first, then the order of the states; of the causes the most frequent first. */
export function groupTargets(targets: readonly Target[]): readonly TargetGroup[] {
  return targetStatuses.flatMap((status) => {
    const byCause = Map.groupBy(
      targets.filter((target) => target.status === status),
      causeOf,
    )
    return [...byCause]
      .map(([cause, { length: count }]) => ({ status, cause, count }))
      .toSorted((one, other) => other.count - one.count)
  })
}

/** Returns the selected devices, in the order of their groups. */
export function selectTargets(targets: readonly Target[], { state, cause }: TargetSearch): readonly Target[] {
  return orderByState(
    targets.filter(
      (target) =>
        (state === undefined || target.status === state) && (cause === undefined || causeOf(target) === cause),
    ),
  )
}
