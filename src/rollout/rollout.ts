import type { DeviceType } from '../events/device-type.ts'
import type { TargetCounts, TargetState } from './tables.ts'

export type {
  DownloadPlan,
  GateWait,
  OrgPhasePlan,
  PhaseGate,
  PhaseScope,
  StartGate,
  UpgradePart,
  UpgradePlan,
} from './plan.ts'
export { START_PHASE } from './plan.ts'
export type {
  OrgDownloads,
  PhaseApproval,
  PhaseOf,
  SiteDownloads,
  TargetCounts,
  TargetState,
  UpgradeHold,
  UpgradeHop,
  UpgradeKind,
  UpgradeNote,
  UpgradeStatus,
} from './tables.ts'

/** Terminal states never change. */
export const terminalStates = [
  'upgraded',
  'staged',
  'failed',
  'skipped',
  'cancelled',
] as const satisfies readonly TargetState[]

/** The device was commanded, and the outcome is not known yet. */
export const inFlightStates = [
  'dl_requested',
  'downloading',
  'reboot_requested',
  'rebooting',
  'verifying',
  'snapshotting',
  'rolling_back',
] as const satisfies readonly TargetState[]

export const waitingStates = ['planned', 'deferred', 'downloaded'] as const satisfies readonly TargetState[]

const terminal: ReadonlySet<TargetState> = new Set(terminalStates)
const inFlight: ReadonlySet<TargetState> = new Set(inFlightStates)

export function isTerminal(state: TargetState): boolean {
  return terminal.has(state)
}

export function isInFlight(state: TargetState): boolean {
  return inFlight.has(state)
}

export const noCounts: TargetCounts = {
  planned: 0,
  deferred: 0,
  dl_requested: 0,
  downloading: 0,
  downloaded: 0,
  reboot_requested: 0,
  rebooting: 0,
  verifying: 0,
  snapshotting: 0,
  rolling_back: 0,
  upgraded: 0,
  staged: 0,
  failed: 0,
  skipped: 0,
  cancelled: 0,
}

/** Targets that are not in a terminal state. */
export function openCount(counts: TargetCounts): number {
  return [...inFlightStates, ...waitingStates].reduce((sum, state) => sum + counts[state], 0)
}

/** A plan of this many devices takes tens of megabytes, and its rounds leave as much garbage within seconds. */
export const LARGE_PLAN = 20_000

/** The only failure without a cause in the upgrade: it counts against no limit. */
export const OFFLINE = 'offline'

/** The reason of a cancelled target whose device, or edge appliance, has left the organization. */
export const REMOVED = 'removed'

/** The reason of a cancelled target whose edge appliance was exchanged for another one. */
export const REPLACED = 'replaced'

/** The reason of a cancelled target whose edge appliance has left the site of the upgrade. */
export const LEFT_SITE = 'left the site'

/** The server had no room for the download of the device, in each of its attempts. */
export const DOWNLOAD_REFUSED = 'download_refused'

/** The phase of targets that are in none: those that the plan skipped, and those that the upgrade has lost. */
export const NO_PHASE = 0

/** The device has rebooted, or was to reboot, and does not run the version. */
export const NOT_APPLIED = 'not_applied'

/** The reason of a cancelled target whose device had its image for too long without a reboot. */
export const NOT_REBOOTED = 'not_rebooted'

/**
 * The limits of the engine; times are service time. The defaults suit real devices; tests and demonstrations use smaller ones.
 */
export interface RolloutOptions {
  /** How long a device must stay connected on its new version before it counts as upgraded. */
  readonly soakMs: number
  /** In addition to the soak, for a device whose connection flaps. */
  readonly verifyTimeoutMs: number
  readonly rebootTimeoutMs: Readonly<Record<DeviceType | 'virtual_chassis' | 'cluster', number>>
  /** Before the second attempt; doubled for each further one. */
  readonly retryMs: number
  readonly maxAttempts: number
  /** A command that could not be sent for this long is withdrawn. */
  readonly commandExpiryMs: number
  /** A device that has the image and stays connected for this long without a boot is not applying it. */
  readonly notAppliedMs: number
  /** A device that was requested to reboot, and is still connected after this long, does not reboot. */
  readonly shutdownMs: number
  /** As notAppliedMs, for a switch or a gateway that has not reported the result of its installation. */
  readonly installMs: number
  /**
   * After a start of the service, or the loss of many devices at the same time: the longest time between two connection
   * attempts of a device.
   */
  readonly reconnectGraceMs: number
  /** A command that has neither ended nor been lost for this long is treated as lost. */
  readonly stallMs: number
  /** A download that moved no byte for this long is not active. */
  readonly downloadIdleMs: number
  /** How long a device may take to return with its backup version. */
  readonly rollbackMs: number
  /** How long the upgrade waits for absent devices after the last phase has opened. */
  readonly offlineDeadlineMs: number
  /** How long a device that has downloaded may wait for its reboot, from when it may begin. */
  readonly downloadedDeadlineMs: number
  /** How many targets of a site upgrade a round reads: those of a larger one take several rounds, where they may. */
  readonly targetsPerRound: number
  /**
   * Returns the node of the gateway that receives the wakes of this process. Commands to devices that are connected to it are
   * committed as sent, and others are queued. Null: there is none at present.
   */
  readonly gatewayNode: () => string | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export const defaultRolloutOptions: RolloutOptions = {
  soakMs: 2 * MINUTE_MS,
  verifyTimeoutMs: 15 * MINUTE_MS,
  rebootTimeoutMs: {
    ap: 10 * MINUTE_MS,
    switch: 20 * MINUTE_MS,
    gateway: 20 * MINUTE_MS,
    virtual_chassis: 30 * MINUTE_MS,
    // Its nodes install and reboot one after the other, without reporting their progress.
    cluster: 90 * MINUTE_MS,
  },
  retryMs: 30_000,
  maxAttempts: 3,
  commandExpiryMs: 10 * MINUTE_MS,
  notAppliedMs: 2 * MINUTE_MS,
  shutdownMs: 30_000,
  installMs: 30 * MINUTE_MS,
  // Access points wait up to 15 minutes.
  reconnectGraceMs: 16 * MINUTE_MS,
  stallMs: 2 * HOUR_MS,
  downloadIdleMs: 15_000,
  rollbackMs: 20 * MINUTE_MS,
  offlineDeadlineMs: 72 * HOUR_MS,
  downloadedDeadlineMs: 14 * 24 * HOUR_MS,
  targetsPerRound: 1000,
  gatewayNode: () => null,
}
