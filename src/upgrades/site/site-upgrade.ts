import type { TargetCounts, UpgradeNote } from '../../rollout/rollout.ts'
import type { SiteUpgrade } from '../org-upgrade.ts'

/** A site upgrade by itself, with the fields of its organization upgrade. */
export interface SiteUpgradeItem extends Pick<
  SiteUpgrade,
  'id' | 'status' | 'hold' | 'stopReason' | 'startAt' | 'waitsUntil' | 'total'
> {
  /** Null: it has none. */
  readonly name: string | null
  readonly rebootAt: Date
  readonly strategy: string
  readonly targetVersion: string
  readonly force: boolean
  readonly enableP2p: boolean
  readonly currentPhase: number
  readonly maxFailurePercentage: number | null
  /** As requested. */
  readonly maxFailures: readonly number[] | null
  readonly counts: TargetCounts
  /** MACs by phase number. Skipped devices are in no phase. */
  readonly phases: Readonly<Record<string, readonly string[]>>
}

export interface SiteUpgradeDetail
  extends SiteUpgradeItem, Pick<SiteUpgrade, 'targets' | 'notes' | 'failures' | 'awaited'> {
  /** Notes about the whole organization upgrade. */
  readonly orgNotes: readonly UpgradeNote[]
  /** As requested. */
  readonly canaryPhases: readonly number[] | null
  readonly p2pClusterSize: number | null
  readonly p2pParallelism: number | null
}
