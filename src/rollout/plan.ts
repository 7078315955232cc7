import type { MaintenanceWindow } from '../orgs/windows/windows.ts'

/** The course of a site upgrade, fixed at its creation. The targets' rows contain the phase of each device. */
export interface UpgradePlan {
  /** For the record only: the other members contain the result of the strategy. */
  readonly strategy: string
  /** `org`: the organization's upgrade opens the phases, and its `phase_plan` has the gates. */
  readonly phase_scope: PhaseScope
  /** The number of phases, including empty ones. */
  readonly phases: number
  /** Targets by phase; null if neither a gate nor the organization's upgrade needs them. */
  readonly phase_sizes: readonly number[] | null
  /** By phase; null: the site has no gates of its own. */
  readonly gates: OrgPhasePlan['gates']
  /** Null: no such limit. */
  readonly max_failure_percentage: number | null
  /**
   * True if some devices download separately from their reboot, so that the downloads begin at the start. Otherwise
   * nothing begins before the reboot.
   */
  readonly stages: boolean
  /** Absent: devices download in the phases of their reboots. */
  readonly downloads?: DownloadPlan
  /** Devices that are absent when their phase begins change places with connected ones of later phases. Absent: none do. */
  readonly online_first?: true
  /** Its devices restart in the order of their ranks. Absent: in any order. */
  readonly ranked?: true
  /** The maximum number of devices of the site that download at the same time. Absent: no limit. */
  readonly max_downloads?: number
  /** Absent: the whole upgrade. */
  readonly only?: UpgradePart
  /** Devices that can take a recovery snapshot once they are upgraded. Absent: no device does. */
  readonly snapshot?: true
  /** Devices that are worse off with the version return to their backup version. Absent: no device does. */
  readonly rollback?: true
  /** Devices must be as healthy as before to count as upgraded. Absent: their connection is enough. */
  readonly health?: true
  /** The models whose devices keep a version above the planned one, because a label chose that. Absent: none. */
  readonly keeps_higher?: readonly string[]
  /** Targets without those that were skipped when planning: the base of the percentage. */
  readonly planned: number
  readonly timezone: string
  /** No device begins from then on. Absent: there is no such instant. */
  readonly ends_s?: number
  /** Devices begin only within them. Absent: at any time. */
  readonly windows?: readonly MaintenanceWindow[]
}

/** The only requested part of an upgrade: to download the image, or to install the one that the device has. */
export type UpgradePart = 'stage' | 'activate'

/** The targets that the phases divide: those of the organization's whole upgrade, or of each site separately. */
export type PhaseScope = 'org' | 'site'

/** Phases that are shares of an organization's whole upgrade. */
export interface OrgPhasePlan {
  /** Targets by phase, at all sites together. */
  readonly phase_sizes: readonly number[]
  /** By phase; null: no phase has a gate. */
  readonly gates: readonly (PhaseGate | null)[] | null
}

/** The phases of the downloads of a site upgrade, where they are not those of the reboots. */
export interface DownloadPlan extends OrgPhasePlan {
  /** For the record only. */
  readonly strategy: string
  /** `org`: the organization's upgrade opens them, and has the gates. */
  readonly scope: PhaseScope
  /** Devices that download and reboot in one step are in them too. Absent: they are in the phases of the reboots. */
  readonly one_step?: true
}

/** Conditions on a phase for the next one to open. A phase that was planned without devices passes. */
export interface PhaseGate {
  /** The number of hard failures in the phase beyond which the upgrade stops immediately; null: no such limit. */
  readonly max_failures: number | null
  /**
   * The percentage of hard failures among the devices of the phase beyond which the upgrade pauses; null: no such
   * limit.
   */
  readonly max_failure_percentage: number | null
  /** Fewer upgraded devices in the phase pause the upgrade. */
  readonly min_upgraded: number
  /**
   * The percentage of upgraded devices among the devices of the phase below which the upgrade pauses. Absent: no such
   * limit.
   */
  readonly min_success_percentage?: number
  /** The event that opens the next phase if the other conditions are met. Absent: none is needed. */
  readonly wait_for?: GateWait
  /** How long it waits, for a wait by time. */
  readonly minutes?: number
  /** The next phase does not open before this instant, whatever else it waits for. Absent: there is none. */
  readonly not_before_s?: number
  /** The URL of a check. */
  readonly url?: string
  /** The person who created the upgrade may not give the approval. Absent: they may. */
  readonly prevent_self_approval?: true
  /** How many different people must approve. Absent: one. */
  readonly approvals?: number
  /**
   * The phase has no devices, and the next one waits for the event nevertheless: it has lost them all, or the first devices of the
   * upgrade have joined the last phase. Absent: neither.
   */
  readonly emptied?: true
}

/** The condition on an upgrade for its first phase to open: a person's approval. */
export type StartGate = Pick<PhaseGate, 'prevent_self_approval' | 'approvals'>

/** Stands for the start in gates, approvals and events: the gate after it opens the first phase. */
export const START_PHASE = 0

/**
 * `pause`: any person who resumes the upgrade; `approval`: a person who approves the phase; `check`: the answer of a
 * program; `time`: the end of a time in which devices are watched.
 */
export type GateWait = 'pause' | 'approval' | 'check' | 'time'
