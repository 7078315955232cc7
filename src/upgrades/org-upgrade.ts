import type { MaintenanceWindow } from '../orgs/windows/windows.ts'
import type { JoiningSelection, Selection } from './planning/plan-selection.ts'
import type { StartTime } from './planning/plan-start.ts'
import type { VersionChoice } from './planning/plan-versions.ts'
import type {
  PhaseApproval,
  StartGate,
  TargetState,
  UpgradeHold,
  UpgradeKind,
  UpgradeNote,
  UpgradePart,
  UpgradeStatus,
} from '../rollout/rollout.ts'
import type { Phasing } from './strategies/strategy.ts'

/** A search that has reached the limit of its size continues after this. */
export const NEXT_LOOK_MS = 1000

/** A time with the name of its field, for messages about it. */
export interface RequestedTime {
  readonly field: string
  readonly time: StartTime
}

export interface RequestedModel {
  readonly field: string
  readonly model: string
}

export interface RequestedVersion extends VersionChoice {
  /** Null: the client named no version, and gets the latest. */
  readonly field: string | null
}

/** A part with the name of the field that limits the upgrade to it. */
export interface RequestedPart {
  readonly field: string
  readonly part: UpgradePart
}

/** The options of a request for peer-to-peer downloads. */
export interface RequestedP2p {
  readonly isEnabled: boolean
  /** 0: all access points of a site are one batch. */
  readonly clusterSize: number
  /** Null: by the number of access points. */
  readonly parallelism: number | null
}

export interface RequestedDownloads {
  /** The name of the strategy. */
  readonly strategy: string
  /** The request names it, and does not only have it by default. */
  readonly isNamed: boolean
  /** True if some of its phases wait for a person or a check. */
  readonly hasGates: boolean
  readonly phasing: Phasing
}

/** An upgrade as requested, with the defaults filled in. */
export interface UpgradeRequest {
  readonly kind: UpgradeKind
  /** The id of the plan that it carries out, which was shown by a preview; null: a new plan is made. */
  readonly planId: string | null
  /** Null: the whole upgrade. */
  readonly only: RequestedPart | null
  readonly siteIds: 'all' | readonly string[]
  readonly selection: Selection
  /** The models of the selection; the organization must have a device of each. */
  readonly models: readonly RequestedModel[]
  /** The first that covers a device counts for it. */
  readonly versions: readonly RequestedVersion[]
  /** False: the client does not allow that switches and gateways reboot. Access points always do. */
  readonly reboots: boolean
  /** Devices that can take a recovery snapshot once they are upgraded. */
  readonly snapshot: boolean
  /** Devices that are worse off with the version return to their backup version. */
  readonly rollback: boolean
  /** Devices must be as healthy as before to count as upgraded. */
  readonly health: boolean
  /** The name of the strategy, for the record. */
  readonly strategy: string
  /** The field that names it. */
  readonly strategyField: string
  /** Null: it begins without an approval. */
  readonly startGate: StartGate | null
  /** The phasing of the reboots. */
  readonly phasing: Phasing
  /** Null: devices download in the phases of their reboots. */
  readonly downloads: RequestedDownloads | null
  /** Null: the operation knows no peer-to-peer downloads. */
  readonly p2p: RequestedP2p | null
  /** Null: now. */
  readonly start: RequestedTime | null
  /** Null: with the start. */
  readonly reboot: RequestedTime | null
  /** The instants before which phases do not begin. */
  readonly notBefore: readonly RequestedTime[]
  /** No device begins from then on; null: there is no such instant. */
  readonly endsAt: Date | null
  /** Devices begin only within them; null: within those of their site; empty: at any time. */
  readonly windows: readonly MaintenanceWindow[] | null
  /** Devices of other upgrades that have not begun with them are taken over. */
  readonly supersede: boolean
  /** The filter for devices that join or match while the upgrade runs; null: none may join. */
  readonly includeNew: JoiningSelection | null
  /** No person has requested it, or reads a refusal: what devices can't do is noted, and those that have just left the site are left out. */
  readonly isAutomatic: boolean
  /** The body as it came, for the record. */
  readonly document: Readonly<Record<string, unknown>>
}

/** The fields of a request that asks for nothing but the devices, their versions and a strategy. */
export const plainRequest = {
  planId: null,
  only: null,
  models: [],
  reboots: true,
  snapshot: false,
  rollback: false,
  health: false,
  strategyField: 'strategy',
  startGate: null,
  downloads: null,
  p2p: null,
  start: null,
  reboot: null,
  notBefore: [],
  endsAt: null,
  windows: null,
  supersede: false,
  includeNew: null,
  isAutomatic: false,
} satisfies Partial<UpgradeRequest>

export interface UpgradeSite {
  readonly id: string
  readonly name: string
  readonly timezone: string
  /** The ids of its groups. */
  readonly groups: readonly string[]
}

export interface TargetFailure {
  readonly mac: string
  /** `upgraded`: only the recovery snapshot failed. `rolling_back`: it has failed, and is being restored. */
  readonly state: Extract<TargetState, 'failed' | 'rolling_back' | 'upgraded'>
  readonly reason: string
}

export interface SiteUpgrade {
  readonly id: string
  readonly siteId: string
  readonly status: UpgradeStatus
  readonly hold: UpgradeHold | null
  /** Why it stops or has stopped before its end. */
  readonly stopReason: string | null
  readonly startAt: Date
  /** When the maintenance window opens that devices wait for; null: none does. */
  readonly waitsUntil: Date | null
  /** The number of devices of other upgrades that it awaits, also after its end. */
  readonly awaited: number
  readonly total: number
  readonly notes: readonly UpgradeNote[]
  readonly failures: readonly TargetFailure[]
  /** MACs in the order of the plan; states without any are left out. */
  readonly targets: Partial<Readonly<Record<TargetState, readonly string[]>>>
}

export interface OrgUpgrade {
  readonly id: string
  readonly name: string | null
  readonly strategy: string
  readonly targetVersion: string
  readonly force: boolean
  readonly enableP2p: boolean
  readonly notes: readonly UpgradeNote[]
  /** In order. */
  readonly approvals: readonly PhaseApproval[]
  /** In the order of their ids. */
  readonly siteUpgrades: readonly SiteUpgrade[]
}
