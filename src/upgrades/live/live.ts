import type { CountsByPhase } from '../../rollout/decide-stop.ts'
import type { OrgPhasePlan, TargetCounts, UpgradeHold, UpgradeKind, UpgradeStatus } from '../../rollout/rollout.ts'

/** How the part of an upgrade at one site stands, without its devices. */
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

/** How a whole upgrade stands. */
export interface LiveUpgrade {
  readonly id: string
  readonly kind: UpgradeKind
  readonly hold: UpgradeHold | null
  /** Some of its site upgrades have not ended. */
  readonly runs: boolean
  /** Those of its site upgrades, each once. */
  readonly statuses: readonly UpgradeStatus[]
  readonly sites: number
  /** Of all sites; states without any are left out. */
  readonly counts: Partial<TargetCounts>
  readonly total: number
  /** Null: each site has phases of its own. */
  readonly phasePlan: OrgPhasePlan | null
  readonly currentPhase: number
  readonly upgradedByPhase: CountsByPhase
  readonly failuresByPhase: CountsByPhase
}
