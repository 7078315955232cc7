import type { PartStatus } from '../../rollout/decide-whole-status.ts'
import type { PhaseApproval, StartGate, TargetCounts, UpgradePlan, UpgradeStatus } from '../../rollout/rollout.ts'
import type { UpgradeEvent } from '../../rollout/events/store.ts'
import type { UpgradeTarget } from '../targets/store.ts'

/** An organization upgrade, or the part of it at one site. */
export interface ReportedUpgrade {
  readonly orgUpgradeId: string
  /** Null: all of its site upgrades. */
  readonly siteUpgradeId: string | null
  /** Null: it has none. */
  readonly name: string | null
  readonly strategy: string
  readonly targetVersion: string
  readonly createdAt: Date
  /** More failures than this percentage of `planned` stop it; null: no such limit. */
  readonly maxFailurePercentage: number | null
  /** Targets without those that were skipped when planning. */
  readonly planned: number
  /** More failures than this stop it; null: no such limit. */
  readonly failureBudget: number | null
  /** By phase; null: no phase has a gate, or each site has gates of its own. */
  readonly gates: UpgradePlan['gates']
  /** The last phase whose devices may be commanded: a retry of an ended upgrade opens them all. */
  readonly currentPhase: number
  /** The same two of the downloads. Null: these have no phases. */
  readonly downloadGates: UpgradePlan['gates']
  readonly currentDownloads: number | null
  /** Null: it begins without an approval. */
  readonly startGate: StartGate | null
  /** Epoch seconds; null: it does not end by itself. */
  readonly endS: number | null
  /** The approvals of the whole upgrade, in order. */
  readonly approvals: readonly PhaseApproval[]
}

/** The known downtimes of devices. */
export interface Downtime {
  readonly devices: number
  readonly longestS: number
  readonly sumS: number
  /** The maximum number of devices that were down at the same time. */
  readonly atOnce: number
  /** Devices that have not come back. */
  readonly stillDown: number
}

export interface ReportedSite {
  readonly id: string
  readonly siteId: string
  /** Null if the site no longer exists. */
  readonly siteName: string | null
  readonly status: UpgradeStatus
  readonly partStatus: PartStatus
  readonly stopReason: string | null
  readonly total: number
  readonly counts: TargetCounts
  readonly finishedAt: Date | null
  /** Null: no device was down. */
  readonly downtime: Downtime | null
}

export interface ReportedPhase {
  readonly phase: number
  readonly total: number
  readonly upgraded: number
  readonly failed: number
  /** Devices that have begun, and that have no result yet. */
  readonly underWay: number
  readonly cancelled: number
  /** When its last device ended; null: not yet. */
  readonly endedAt: Date | null
}

/** A phase of the downloads. */
export interface ReportedDownloads {
  readonly phase: number
  readonly total: number
  /** Devices that have got their image, whatever their result. */
  readonly downloaded: number
  /** Devices that failed without it. */
  readonly failed: number
}

/** Everything but the devices. Its size depends on the number of sites and of different reasons. */
export interface ReportSummary {
  readonly upgrade: ReportedUpgrade
  readonly sites: readonly ReportedSite[]
  /** Over all sites together. */
  readonly downtime: Downtime
  /** The devices that it waits for because they are offline. */
  readonly offline: number
  /** The most frequent ones, as in the next three. */
  readonly versions: readonly { readonly devices: number; readonly from: string | null; readonly to: string }[]
  readonly failures: readonly {
    readonly devices: number
    readonly reason: string | null
    /** See UpgradeTarget. */
    readonly restoreReason: string | null
  }[]
  readonly leftOut: readonly { readonly devices: number; readonly reason: string }[]
  /** In order, the first thousand. */
  readonly phases: readonly ReportedPhase[]
  /** The same; empty: devices download in the phases of their reboots. */
  readonly downloads: readonly ReportedDownloads[]
  /** Events of the upgrade as a whole, and of its sites, in order. */
  readonly events: readonly UpgradeEvent[]
}

export interface ReportedDevice extends Omit<UpgradeTarget, 'siteId'> {
  readonly downAt: Date | null
  readonly upAt: Date | null
  /** Between them it was up, from the first of these to the second; null: it was not. */
  readonly upAgainAt: Date | null
  readonly downAgainAt: Date | null
}

/** A selected device that the plan left out. */
export interface LeftOutDevice {
  readonly siteId: string
  readonly mac: string
  /** Null also for a device that has left the organization. */
  readonly name: string | null
  /** Null for a device that has left the organization. */
  readonly model: string | null
  readonly reason: string
}
