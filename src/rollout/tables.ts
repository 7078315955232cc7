import type { Generated } from 'kysely'
import type { TopicEvents } from '../events/topics.ts'
import type { DefaultJson, Json } from '../platform/database/json-column.ts'
import type { OrgPhasePlan, UpgradePlan } from './plan.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    orgUpgrade: OrgUpgradeTable
    siteUpgrade: SiteUpgradeTable
    upgradeTarget: UpgradeTargetTable
    upgradeTargetRun: UpgradeTargetRunTable
    upgradeJoiningFailure: UpgradeJoiningFailureTable
    upgradeEvent: UpgradeEventTable
  }
}

export interface OrgUpgradeTable {
  orgId: string
  id: string
  kind: Generated<UpgradeKind>
  request: Json<Record<string, unknown>>
  strategy: string
  targetVersion: string
  force: boolean
  enableP2p: boolean
  maxFailurePercentage: number | null
  planned: number
  hardFailures: Generated<number>
  notes: Json<readonly UpgradeNote[]>
  /** Null: each site has its own phases, and the following columns except `hold` and `stopping` have no meaning. */
  phasePlan: Json<OrgPhasePlan> | null
  /** Phases of the downloads that are shares of the whole upgrade. Null: there are none. */
  downloadPlan: Json<OrgPhasePlan> | null
  downloads: Json<OrgDownloads> | null
  currentPhase: Generated<number>
  gatePassed: Generated<number>
  /** By phase number: targets that are planned, downloaded or in flight. */
  pendingByPhase: Json<Readonly<Record<string, number>>>
  failuresByPhase: DefaultJson<Readonly<Record<string, number>>>
  upgradedByPhase: DefaultJson<Readonly<Record<string, number>>>
  hold: Json<UpgradeHold> | null
  stopping: Generated<'failed' | 'cancelled' | null>
  approvals: DefaultJson<readonly PhaseApproval[]>
  /** When it stops by itself; null: never, or it has done so. */
  endsAt: Date | null
  /** The next call of the check of the gate that pauses the upgrade, or the end of its wait; service time. */
  checkDueMs: number | null
  checkAttempts: Generated<number>
  /** The filter for devices that may join, as upgrades/planning/plan-joining.ts encodes it; null: none. */
  joining: Json<Record<string, unknown>> | null
  /** When it looks for devices that have joined, in service time; null: never. */
  includeDueMs: number | null
  /** The last device that the current pass has examined; null: a new pass begins. */
  includeAfter: string | null
  adminId: string | null
  createdAt: Date
}

/** `ssr`: an upgrade of SSR routers, which has its own operations and lists. */
export type UpgradeKind = 'device' | 'ssr'

/** The open phase of the downloads, and the results of the devices of these phases. */
export interface SiteDownloads {
  /** From 1. */
  readonly current: number
  /** The gate after this phase is not evaluated again; 0 = none. */
  readonly gate_passed: number
  /** By phase number: devices that failed before they had their image. */
  readonly failures: Readonly<Record<string, number>>
  /** By phase number: devices that got their image. */
  readonly downloaded: Readonly<Record<string, number>>
}

export interface OrgDownloads extends SiteDownloads {
  /** By phase number: devices that are planned or download. */
  readonly pending: Readonly<Record<string, number>>
}

/** A phase of the reboots or of the downloads. */
export interface PhaseOf {
  /** From 1; 0: the start. */
  readonly phase: number
  /** Absent: of the reboots. */
  readonly of?: 'downloads' | undefined
}

/**
 * A person approved the phase or resumed the upgrade at its gate, or its check passed. If several people must approve it, each of them
 * has one.
 */
export interface PhaseApproval extends PhaseOf {
  readonly by: 'approval' | 'check' | 'resume' | 'time'
  readonly name: string
  readonly admin_id: string | null
  readonly note: string | null
  readonly at_s: number
  /** The person has opened the next phase before the instant of its gate. Absent: not so. */
  readonly early?: true
}

/** A device's report about its connections in the network. */
export interface DeviceHealth {
  /** Uplink ports that are up. */
  readonly uplinks: readonly string[]
  /** Switches and routers that it hears by LLDP. */
  readonly neighbors: readonly string[]
  /** The bands of its radios. */
  readonly radios: readonly string[]
  /** Wireless clients; null: it does not count them. */
  readonly clients: number | null
}

/** A version on the path of a device to the requested one, which is the last. */
export interface UpgradeHop {
  readonly version: string
  readonly image_id: string
  /** Further strings by which devices report the version. */
  readonly reported: readonly string[]
  /** When the device got the version, and the time for which the reboot took it down, in milliseconds. Absent: not known. */
  readonly done_ms?: number
  readonly down_ms?: number
  readonly up_ms?: number
}

/** The places in a phase that connected devices, or edge appliances, have taken from absent ones. */
export interface ReplacedPlaces {
  readonly phase: number
  readonly count: number
  /** The first of them, as in the text of the note: MACs of devices, names of appliances. */
  readonly named: readonly string[]
}

/** A device that was skipped, or (without a MAC) a warning about the whole site. */
export interface UpgradeNote {
  readonly mac?: string
  /** Another upgrade had the device when this one was planned. Absent: any other note. */
  readonly kind?: 'in_another_upgrade'
  /** Connected devices have taken the places of absent ones. Absent: any other note. */
  readonly places?: ReplacedPlaces
  /** Only for display. */
  readonly reason: string
}

/**
 * Why no new command is sent. `gate`: too many devices failed in the phase that has ended, or the request set a pause
 * after it; `approval`, `check`, `time`: the next phase waits for an approval, the answer of a check, or a time; `user`: a person
 * paused the upgrade.
 */
export interface UpgradeHold {
  readonly by: 'gate' | 'approval' | 'check' | 'time' | 'user'
  readonly reason: string
  /** The reason of the pause alone, where `reason` adds that of a wait of edge appliances. Absent: it adds none. */
  readonly pause_reason?: string
  /** The gate is one between phases of the downloads. Absent: it is not. */
  readonly of?: PhaseOf['of']
  /** It waits for an approval of its start. Absent: it does not. */
  readonly phase?: 0
  /** How long it waits from then on, in service time. Absent: it does not wait for so long. */
  readonly wait_ms?: number
  /** The instant for which it waits. Absent: it waits for none. */
  readonly not_before_s?: number
  /** How many further people must approve, if more than one must. */
  readonly missing?: number
  readonly since_s: number
  /** The same instant in service time. */
  readonly since_ms: number
}

/** Names such as `scheduled` and `rebooted` are those of the wire; see upgrades/wire.ts. */
export type TargetState =
  | 'planned'
  | 'deferred'
  | 'dl_requested'
  | 'downloading'
  | 'downloaded'
  | 'reboot_requested'
  | 'rebooting'
  | 'verifying'
  /** It runs the version, and takes the requested recovery snapshot, whose failure does not fail it. */
  | 'snapshotting'
  /** Its upgrade has failed, and it returns to its backup version. */
  | 'rolling_back'
  | 'upgraded'
  /** It has downloaded the image, and nothing more was requested. */
  | 'staged'
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
  /** Null: the downloads have no phases. */
  downloads: Json<SiteDownloads> | null
  counts: Json<TargetCounts>
  /** How many of the cancelled targets no stop has ended: their devices were taken over or excluded, have left or never rebooted. */
  released: Generated<number>
  hold: Json<UpgradeHold> | null
  gatePassed: Generated<number>
  total: number
  notes: Json<readonly UpgradeNote[]>
  createdAt: Date
  finishedAt: Date | null
  /** It was cancelled, and accepts no devices that join later, whatever its status. */
  closed: Generated<boolean>
  /** When the maintenance window opens that devices wait for. */
  waitsUntil: Date | null
  /** Set after many devices of the site were lost at the same time. Service time. */
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
  /** Null: it downloads when `phase` opens. */
  downloadPhase: number | null
  /** Devices that are connected through a device have a lower rank. Null: there is no order of restarts. */
  rank: number | null
  ordinal: number
  imageId: string
  fromVersion: string | null
  targetVersion: string
  /** Further strings by which devices report the target version; null: none. */
  reported: Json<readonly string[]> | null
  /** The versions that it passes through, the last of them the requested one; null: it installs that one directly. */
  path: Json<readonly UpgradeHop[]> | null
  force: boolean
  state: TargetState
  attempt: Generated<number>
  commandId: string | null
  failedAttempts: Generated<number>
  lostAttempts: Generated<number>
  bootCount: number | null
  enteredAt: Date
  /** The same instant in service time. */
  enteredMs: Generated<number>
  retryAtMs: number | null
  fetched: Generated<boolean>
  /** The device has the image, and `activate` would install it. */
  staged: Generated<boolean>
  /** Why the target failed or was cancelled; for an upgraded one, why it has no recovery snapshot. */
  reason: string | null
  /** Counts from 1: each retry of the failed target begins another one. The other members are about the latest. */
  run: Generated<number>
  /** See timeline.ts. */
  timeline: Generated<string>
  /** The end of the connection that the reboot ended; null: it did not reboot, or the time is unknown. */
  downAt: Date | null
  /** When it was connected again, after its restore if it was restored; null: it has not come back. */
  upAt: Date | null
  /** Between them, it was up from here on, if it was restored for its health; null: it was not, or was not up in between. */
  upAgainAt: Date | null
  /** Until here. */
  downAgainAt: Date | null
  /** The health of the device before it was commanded to reboot; null: health is not compared. */
  baseline: Json<DeviceHealth> | null
}

/** A run of a target that failed and was retried. */
export interface UpgradeTargetRunTable {
  orgId: string
  upgradeId: string
  deviceId: string
  run: number
  reason: string | null
  fromVersion: string | null
  attempt: number
  endedAt: Date
  retriedAt: Date
  retriedBy: string
  downAt: Date | null
  upAt: Date | null
  upAgainAt: Date | null
  downAgainAt: Date | null
}

/** Why a device could not join an upgrade, as of the last search that examined it. */
export interface UpgradeJoiningFailureTable {
  orgId: string
  /** The upgrade of the site. */
  upgradeId: string
  deviceId: string
  mac: string
  reason: string
}

/** An event of an upgrade as a whole. */
export interface UpgradeEventTable {
  orgId: string
  orgUpgradeId: string
  id: string
  event: Json<TopicEvents['upgrade-events']>
}
