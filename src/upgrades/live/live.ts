import type { CountsByPhase } from '../../rollout/stops/decide-stop.ts'
import type { PartStatus } from '../../rollout/decide-whole-status.ts'
import type { OrgPhasePlan, TargetCounts, UpgradeHold, UpgradeKind, UpgradeStatus } from '../../rollout/rollout.ts'

/** The progress of an upgrade at one site, without its devices. */
export interface LiveSite {
  readonly id: string
  readonly orgUpgradeId: string
  readonly siteId: string
  readonly kind: UpgradeKind
  readonly status: UpgradeStatus
  readonly hold: UpgradeHold | null
  readonly stopReason: string | null
  readonly waitsUntil: Date | null
  readonly counts: TargetCounts
  readonly total: number
  /** The phase that is open, from 1. */
  readonly currentPhase: number
  readonly upgradedByPhase: CountsByPhase
  readonly hardFailures: CountsByPhase
}

/** The progress of a whole upgrade. */
export interface LiveUpgrade {
  readonly id: string
  readonly kind: UpgradeKind
  readonly hold: UpgradeHold | null
  /** Some of its site upgrades have not ended. */
  readonly runs: boolean
  /** The statuses of its site upgrades, without duplicates. */
  readonly statuses: readonly PartStatus[]
  readonly sites: number
  /** Over all sites; states without any are left out. */
  readonly counts: Partial<TargetCounts>
  readonly total: number
  /** Null: each site has its own phases. */
  readonly phasePlan: OrgPhasePlan | null
  readonly currentPhase: number
  readonly upgradedByPhase: CountsByPhase
  readonly failuresByPhase: CountsByPhase
}
