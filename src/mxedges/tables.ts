import type { Generated, GeneratedAlways } from 'kysely'
import type { CommandProgress } from '../devices/tables.ts'
import type { DefaultJson, Json } from '../platform/database/json-column.ts'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'
import type { MxedgeFacts, MxedgeReport } from './sessions/facts.ts'
import type { MxedgeCommandKind } from './commands/command.ts'
import type {
  MxedgeStep,
  MxedgeTargetCounts,
  MxedgeTargetState,
  MxedgeTargetRun,
  MxedgeUpgradeNote,
  MxedgeUpgradePlan,
  MxedgeUpgradeStatus,
} from './upgrades/upgrade.ts'
import type { PhaseApproval, UpgradeHold } from '../rollout/rollout.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    mxedgeRegistry: MxedgeRegistryTable
    mxcluster: MxclusterTable
    mxedge: MxedgeTable
    mxedgeImage: MxedgeImageTable
    mxedgeSession: MxedgeSessionTable
    mxedgeCommand: MxedgeCommandTable
    mxedgeUpgrade: MxedgeUpgradeTable
    mxedgeUpgradeTarget: MxedgeUpgradeTargetTable
    mxedgeUpgradeJoiningFailure: MxedgeUpgradeJoiningFailureTable
  }
}

export interface MxedgeRegistryTable {
  id: string
  mac: string
  serial: string
  model: string
  claimCode: string
  orgId: string | null
  /** The last epoch of its registrations before the appliance was deleted; 0: it never was. */
  registrationEpoch: Generated<number>
  createdAt: Date
}

export interface MxclusterTable {
  orgId: string
  id: string
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
}

export interface MxedgeTable {
  orgId: string
  id: string
  siteId: string | null
  mxclusterId: string | null
  name: string
  model: string
  mac: string | null
  serial: string | null
  doc: DocumentColumn
  registrationCode: string
  registrationEpoch: Generated<number>
  registeredAt: Date | null
  /** SHA-256 of its public key, in hex. */
  registeredKey: string | null
  /** The key that replaces the registered one once an agent uses it. */
  renewalKey: string | null
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
}

export interface MxedgeImageTable {
  orgId: string
  mxedgeId: string
  /** 1 to 3. */
  number: number
  /** Name of its file. */
  name: string
  /** 0: not measured yet. */
  bytes: Generated<number>
  width: number
  height: number
  createdAt: Date
}

export interface MxedgeSessionTable {
  orgId: string
  mxedgeId: string
  nodeId: string
  /** A bigint: pg returns it as text. */
  epoch: string
  connected: boolean
  /** In service time. */
  connectedMs: number
  disconnectedAt: Date | null
  lostAt: Date | null
  lastSeenAt: Date
  facts: Json<MxedgeFacts>
  report: Json<MxedgeReport> | null
  /** Null: a session from before this was recorded. */
  certificateExpiresAt: Date | null
}

export type MxedgeCommandState = 'queued' | 'sent' | 'done' | 'rejected' | 'unknown' | 'expired' | 'cancelled'

export interface MxedgeCommandTable {
  orgId: string
  id: string
  mxedgeId: string
  kind: MxedgeCommandKind
  params: Json<Record<string, unknown>>
  state: Generated<MxedgeCommandState>
  epoch: string | null
  callId: number | null
  outcome: Json<Record<string, unknown>> | null
  progress: Json<CommandProgress> | null
  progressedAt: Date | null
  /** Null for one that no upgrade has queued, as `upgradeAttempt`. */
  upgradeId: string | null
  upgradeAttempt: number | null
  createdAt: Date
  expiresAt: Date
  sentAt: Date | null
  finishedAt: Date | null
}

export interface MxedgeUpgradeTable {
  orgId: string
  id: string
  /** Null for an upgrade of the organization. */
  siteId: string | null
  request: Json<Record<string, unknown>>
  plan: Json<MxedgeUpgradePlan>
  status: MxedgeUpgradeStatus
  stopping: 'failed' | 'cancelled' | null
  stopReason: string | null
  hold: Json<UpgradeHold> | null
  /** Who has approved phases or resumed it at their gates. */
  approvals: DefaultJson<readonly PhaseApproval[]>
  /** The person who created it or changed it last; null: nobody, or it is from before migration 0580. */
  adminId: string | null
  currentPhase: Generated<number>
  gatePassed: Generated<number>
  /** Service time. */
  phaseOpenedMs: number | null
  counts: Json<MxedgeTargetCounts>
  /** How many of the cancelled targets no stop has ended: their appliances were taken over or excluded, have left or were replaced. */
  released: Generated<number>
  /** By phase number. */
  hardFailures: DefaultJson<Readonly<Record<string, number>>>
  /** By phase number. */
  upgradedByPhase: DefaultJson<Readonly<Record<string, number>>>
  notes: Json<readonly MxedgeUpgradeNote[]>
  startAt: Date
  createdAt: Date
  finishedAt: Date | null
  /** When the maintenance window opens that appliances wait for. */
  waitsUntil: Date | null
  /** The filter for appliances that join while it runs, as upgrades/mxedges/plan-joining.ts encodes it; null: none. */
  joining: Json<Record<string, unknown>> | null
  /** When it looks for them, in service time; null: never. */
  includeDueMs: number | null
  /** When its check is called next, in service time; null: never. */
  checkDueMs: number | null
  /** How often it was called. */
  checkAttempts: Generated<number>
  /** The last appliance that the present pass has looked at; null: a pass is to begin. */
  includeAfter: string | null
}

/** Why an appliance could not join an upgrade, as of the last search that examined it. */
export interface MxedgeUpgradeJoiningFailureTable {
  orgId: string
  upgradeId: string
  mxedgeId: string
  reason: string
}

export interface MxedgeUpgradeTargetTable {
  orgId: string
  upgradeId: string
  mxedgeId: string
  name: string
  phase: number
  wave: number
  ordinal: number
  registrationEpoch: number
  /** Its site when the upgrade was planned. */
  plannedSiteId: string | null
  steps: Json<readonly MxedgeStep[]>
  /** The place of the present step, from 0. */
  step: Generated<number>
  /** The packages of the steps before this one are downloaded. */
  staged: Generated<number>
  state: MxedgeTargetState
  reason: string | null
  /** Numbers the commands over all steps. */
  attempt: Generated<number>
  commandId: string | null
  failedAttempts: Generated<number>
  lostAttempts: Generated<number>
  enteredMs: number
  retryAtMs: number | null
  /** The runs before the present one, the oldest first. */
  runs: DefaultJson<readonly MxedgeTargetRun[]>
}
