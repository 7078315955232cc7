import type { Generated } from 'kysely'
import type { DefaultJson, Json } from '../platform/json-column.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    orgUpgrade: OrgUpgradeTable
    siteUpgrade: SiteUpgradeTable
    upgradeTarget: UpgradeTargetTable
  }
}

export interface OrgUpgradeTable {
  orgId: string
  id: string
  request: Json<Record<string, unknown>>
  strategy: string
  targetVersion: string
  force: boolean
  enableP2p: boolean
  maxFailurePercentage: number | null
  planned: number
  hardFailures: Generated<number>
  notes: Json<readonly UpgradeNote[]>
  /** Null: each site has phases of its own, and the rest has no meaning, but for `hold` and `stopping`. */
  phasePlan: Json<OrgPhasePlan> | null
  currentPhase: Generated<number>
  gatePassed: Generated<number>
  /** By phase number: targets that are planned or in flight. */
  pendingByPhase: Json<Readonly<Record<string, number>>>
  failuresByPhase: DefaultJson<Readonly<Record<string, number>>>
  upgradedByPhase: DefaultJson<Readonly<Record<string, number>>>
  hold: Json<UpgradeHold> | null
  stopping: Generated<'failed' | 'cancelled' | null>
  adminId: string | null
  createdAt: Date
}

export type RolloutStrategy = 'big_bang' | 'canary' | 'serial'

/** What canary phases are shares of: the organization's whole upgrade, or the devices of each site. */
export type PhaseScope = 'org' | 'site'

/** Phases that are shares of an organization's whole upgrade. */
export interface OrgPhasePlan {
  /** Targets by phase, at all sites together. */
  readonly phase_sizes: readonly number[]
  /** Tolerated hard failures by phase, at all sites together; null: the percentage applies. */
  readonly max_failures: readonly number[] | null
}

/** How a site upgrade proceeds, fixed when it is created. Who is in which phase: the targets' rows. */
export interface UpgradePlan {
  readonly strategy: RolloutStrategy
  /** `org`: the organization's upgrade opens the phases, and counts the failures that `max_failures` limits. */
  readonly phase_scope: PhaseScope
  /** How many phases there are, empty ones included. */
  readonly phases: number
  /** Cumulative percent; canary only. */
  readonly canary_phases: readonly number[] | null
  /** Targets by phase; canary only. */
  readonly phase_sizes: readonly number[] | null
  /** Tolerated hard failures by phase; replaces the percentage. */
  readonly max_failures: readonly number[] | null
  /** Null: no such limit. */
  readonly max_failure_percentage: number | null
  /** Targets less those that were skipped when planning: what the percentage is of. */
  readonly planned: number
  readonly timezone: string
}

/** A device that was left out, or (without a MAC) a warning about the whole site. */
export interface UpgradeNote {
  readonly mac?: string
  readonly reason: string
}

/** Why no new command goes out: too many failed in the phase that has ended, or somebody paused it. */
export interface UpgradeHold {
  readonly by: 'gate' | 'user'
  readonly reason: string
  readonly since_s: number
  /** The same in service time. */
  readonly since_ms: number
}

/** `scheduled`, `rebooted` and the like are names of the wire; see upgrades/wire.ts. */
export type TargetState =
  | 'planned'
  | 'deferred'
  | 'dl_requested'
  | 'downloading'
  | 'rebooting'
  | 'verifying'
  | 'upgraded'
  | 'failed'
  | 'skipped'
  | 'cancelled'

export type TargetCounts = Readonly<Record<TargetState, number>>

export type UpgradeStatus =
  | 'created'
  | 'queued'
  | 'downloading'
  | 'downloaded'
  | 'upgrading'
  | 'completed'
  | 'failed'
  | 'cancelled'

export interface SiteUpgradeTable {
  orgId: string
  id: string
  orgUpgradeId: string
  siteId: string
  status: UpgradeStatus
  stopping: 'failed' | 'cancelled' | null
  stopReason: string | null
  startAt: Date
  rebootAt: Date
  plan: Json<UpgradePlan>
  currentPhase: Generated<number>
  /** Service time. */
  phaseOpenedMs: number | null
  /** By phase number. */
  hardFailures: Json<Readonly<Record<string, number>>>
  /** By phase number. */
  upgradedByPhase: DefaultJson<Readonly<Record<string, number>>>
  counts: Json<TargetCounts>
  hold: Json<UpgradeHold> | null
  gatePassed: Generated<number>
  total: number
  notes: Json<readonly UpgradeNote[]>
  createdAt: Date
  finishedAt: Date | null
  /** After many devices of the site went away at once. Service time. */
  graceUntilMs: number | null
  /** Service time, as the lease. */
  dueMs: number | null
  leaseUntilMs: number | null
  epoch: Generated<string>
}

export interface UpgradeTargetTable {
  orgId: string
  upgradeId: string
  deviceId: string
  mac: string
  model: string
  phase: number
  ordinal: number
  imageId: string
  fromVersion: string | null
  targetVersion: string
  force: boolean
  state: TargetState
  attempt: Generated<number>
  commandId: string | null
  failedAttempts: Generated<number>
  lostAttempts: Generated<number>
  bootCount: number | null
  enteredAt: Date
  /** The same in service time. */
  enteredMs: Generated<number>
  retryAtMs: number | null
  fetched: Generated<boolean>
  reason: string | null
}
