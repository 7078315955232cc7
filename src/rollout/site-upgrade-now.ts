import type { CountsByPhase, FailuresByPhase } from './stops/decide-stop.ts'
import type { Step } from './rounds/decide-step.ts'
import type { RolloutOptions, SiteDownloads, TargetCounts, UpgradeHold, UpgradePlan, UpgradeStatus } from './rollout.ts'
import type { TargetNow } from './targets/target.ts'

/** A site upgrade with those of its targets that may need an action. */
export interface SiteUpgradeNow {
  readonly status: UpgradeStatus
  readonly stopping: 'failed' | 'cancelled' | null
  readonly stopReason: string | null
  readonly hold: UpgradeHold | null
  /** The gate after this phase is not evaluated again; 0 = none. */
  readonly gatePassed: number
  readonly startAt: Date
  readonly rebootAt: Date
  readonly plan: UpgradePlan
  readonly currentPhase: number
  /** Service time. */
  readonly phaseOpenedMs: number | null
  /** As Now.graceUntilMs, but for this site. */
  readonly graceUntilMs: number | null
  readonly counts: TargetCounts
  /** How many of the cancelled targets no stop has ended. */
  readonly released: number
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  /** Null: the downloads have no phases. */
  readonly downloads: SiteDownloads | null
  /** False: `targets` are only those that have changed. */
  readonly isDue: boolean
  /**
   * The targets of the phases opened so far (of all phases when stopping), without those that have ended and those that
   * certainly need no action yet.
   */
  readonly targets: readonly TargetNow[]
}

/** The members of SiteUpgradeNow that change, and the latest time of the next round (null: never). */
export interface SiteUpgradeChange extends Pick<
  SiteUpgradeNow,
  | 'status'
  | 'stopping'
  | 'stopReason'
  | 'hold'
  | 'currentPhase'
  | 'phaseOpenedMs'
  | 'counts'
  | 'released'
  | 'hardFailures'
  | 'upgradedByPhase'
  | 'downloads'
> {
  readonly finishedAt: Date | null
  readonly dueMs: number | null
  /** When the maintenance window opens that devices wait for; null: none waits for one. */
  readonly waitsUntil: Date | null
}

export interface SiteUpgradeDecision {
  readonly steps: readonly Step[]
  readonly withdrawn: readonly string[]
  readonly fences: readonly { readonly commandId: string; readonly imageId: string }[]
  readonly siteUpgrade: SiteUpgradeChange
  /** Failures beyond a limit stop it in this round. Absent: none do; it may end as failed because of an earlier stop. */
  readonly isStopped?: true
}

export interface Now {
  /** On the wall clock: for start times set by people, and for the record. */
  readonly now: Date
  /** Service time: for everything that must not expire while the service does not listen. */
  readonly nowMs: number
  /** See TargetRules. */
  readonly graceUntilMs: number
  readonly crowdedMs: number | null
  readonly options: RolloutOptions
}

/** A site upgrade, running or not, that continues with retried devices, or with devices that join. */
export interface ContinuedSite extends Pick<
  SiteUpgradeNow,
  | 'status'
  | 'stopping'
  | 'stopReason'
  | 'hold'
  | 'plan'
  | 'currentPhase'
  | 'phaseOpenedMs'
  | 'counts'
  | 'hardFailures'
  | 'downloads'
> {
  readonly id: string
  readonly finishedAt: Date | null
}
