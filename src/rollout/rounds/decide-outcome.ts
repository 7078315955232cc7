import { type TargetCounts, type TargetState, type UpgradePlan, type UpgradeStatus, isInFlight } from '../rollout.ts'

export interface Stopping {
  /** Null: nothing stops it. */
  readonly stopping: 'failed' | 'cancelled' | null
  readonly stopReason: string | null
}

/**
 * Decides the result of an upgrade from those of its targets, all of which have ended. Without any success it has
 * failed, whether or not a limit stopped it. A cancellation that came too late for every target has cancelled nothing.
 */
export function decideOutcome(
  { stopping, stopReason, plan }: Stopping & { readonly plan: Pick<UpgradePlan, 'planned'> },
  counts: Pick<TargetCounts, 'failed' | 'cancelled'>,
): Stopping & { readonly status: Extract<UpgradeStatus, 'completed' | 'failed' | 'cancelled'> } {
  if (stopping === 'failed' || (stopping === 'cancelled' && counts.cancelled > 0))
    return { status: stopping, stopping, stopReason }
  // A limit had stopped it before its failed targets were retried. The targets that were cancelled then are still
  // missing.
  if (stopping === null && stopReason !== null && counts.cancelled > 0)
    return { status: 'failed', stopping: 'failed', stopReason }
  // Devices that were skipped when planning are not among the planned ones.
  const nothingWorked = counts.failed > 0 && counts.failed + counts.cancelled >= plan.planned
  return { status: nothingWorked ? 'failed' : 'completed', stopping: null, stopReason: null }
}

/** The status never goes back: a site upgrade that has rebooted devices stays `upgrading`. */
export function statusOf(status: UpgradeStatus, counts: TargetCounts): UpgradeStatus {
  const { reboot_requested: requested, rebooting, verifying, snapshotting, rolling_back: restored, upgraded } = counts
  const rebooted = requested + rebooting + verifying + snapshotting + restored + upgraded
  if (status === 'upgrading' || rebooted > 0) return 'upgrading'
  if (counts.dl_requested + counts.downloading > 0) return 'downloading'
  return counts.downloaded > 0 ? 'downloaded' : status
}

export function isAnyInFlight(counts: TargetCounts): boolean {
  return Object.entries(counts).some(([state, count]) => count > 0 && isInFlight(state as TargetState))
}
