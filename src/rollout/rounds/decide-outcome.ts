import { type TargetCounts, type UpgradePlan, type UpgradeStatus, isInFlight } from '../rollout.ts'
import { keysOf } from '../../platform/records.ts'

export interface Stopping {
  /** Null: nothing stops it. */
  readonly stopping: 'failed' | 'cancelled' | null
  readonly stopReason: string | null
}

/** The ends of targets, of devices or of edge appliances. */
export interface EndCounts extends Pick<TargetCounts, 'upgraded' | 'failed' | 'cancelled'> {
  /** Absent: no target can end so. */
  readonly staged?: number
}

/** An upgrade, all of whose targets have ended. */
export interface Ended extends Stopping {
  readonly plan: Pick<UpgradePlan, 'planned'>
  /** How many of the cancelled targets no stop has ended: see countReleased() and planRelease(). */
  readonly released: number
}

/**
 * Decides the result of an upgrade from those of its targets. Without any success it has failed, whether or not a limit
 * stopped it. A cancellation that came too late for every target has cancelled nothing, and the failures of other sites
 * have stopped nothing where all targets succeeded by then; released targets, which another upgrade has taken over for
 * example, are not its work. An upgrade that has released all its targets is cancelled, but nothing has stopped it: with
 * `include_new`, devices may still join.
 */
export function decideOutcome(
  { stopping, stopReason, plan, released }: Ended,
  counts: EndCounts,
  { unit }: { readonly unit: string } = { unit: 'device' },
): Stopping & { readonly status: Extract<UpgradeStatus, 'completed' | 'failed' | 'cancelled'> } {
  const isStopped = counts.cancelled > released
  // An upgrade that has lost all its devices has completed nothing.
  const isEmpty = counts.cancelled > 0 && countResults(counts) === 0
  const hasFailed = stopping === 'failed' && counts.failed > 0
  if (stopping !== null && (isStopped || isEmpty || hasFailed)) return { status: stopping, stopping, stopReason }
  // A limit had stopped it before its failed targets were retried. The targets that were cancelled then are still
  // missing.
  if (stopping === null && stopReason !== null && isStopped) return { status: 'failed', stopping: 'failed', stopReason }
  if (isEmpty)
    return { status: 'cancelled', stopping: null, stopReason: `no ${unit} is left to upgrade; see the reason of each` }
  // Devices that were skipped when planning are not among the planned ones.
  const nothingWorked = counts.failed > 0 && counts.failed + counts.cancelled >= plan.planned
  return { status: nothingWorked ? 'failed' : 'completed', stopping: null, stopReason: null }
}

/** Counts the targets that have succeeded or failed. */
export function countResults({ upgraded, staged = 0, failed }: EndCounts): number {
  return upgraded + staged + failed
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
  return keysOf(counts).some((state) => counts[state] > 0 && isInFlight(state))
}
