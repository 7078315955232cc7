import type { MaintenanceWindow } from '../../orgs/windows/windows.ts'
import type { PhaseGate, StartGate } from '../../rollout/rollout.ts'
import type { ReplacedPlaces } from '../../rollout/tables.ts'

/** Terminal states never change. */
export const terminalStates = ['upgraded', 'failed', 'skipped', 'cancelled'] as const

/** The appliance runs the version from before the present step. */
export const waitingStates = ['planned', 'deferred', 'downloading', 'downloaded'] as const

/** The appliance was commanded to install, and the success of its step is not yet known. */
export const inFlightStates = ['commanded', 'unconfirmed', 'verifying'] as const

/**
 * `deferred`: the appliance is absent; it delays no others. `downloading`: it was commanded to download a package.
 * `downloaded`: it has the packages of all its steps. `unconfirmed`: the connection was lost with the command.
 * `verifying`: the command is done, and the appliance has to report the version.
 */
export type MxedgeTargetState =
  | (typeof waitingStates)[number]
  | (typeof inFlightStates)[number]
  | (typeof terminalStates)[number]

export type MxedgeTargetCounts = Readonly<Record<MxedgeTargetState, number>>

export const noCounts: MxedgeTargetCounts = {
  planned: 0,
  deferred: 0,
  downloading: 0,
  downloaded: 0,
  commanded: 0,
  unconfirmed: 0,
  verifying: 0,
  upgraded: 0,
  failed: 0,
  skipped: 0,
  cancelled: 0,
}

const terminal: ReadonlySet<string> = new Set(terminalStates)
const inFlight: ReadonlySet<string> = new Set(inFlightStates)

export function isTerminal(state: MxedgeTargetState): boolean {
  return terminal.has(state)
}

export function isInFlight(state: MxedgeTargetState): boolean {
  return inFlight.has(state)
}

/** One command to an appliance, with its report before and after. */
export type MxedgeStep = ServiceStep | DistroStep

export interface ServiceStep {
  readonly service: string
  /** The version that the service reported when the step was planned, or commanded; null: it was not installed. */
  readonly from: string | null
  readonly to: string
  /** The firmware image that is the package. */
  readonly image_id: string
  /** True if `to` may be lower than the version that the service runs. */
  readonly allow_downgrade: boolean
}

export interface DistroStep {
  readonly distro: true
  /** A codename. */
  readonly from: string | null
  /** A codename, or `next`: any other than `from`. */
  readonly to: string
}

/** A run of a target that failed, and was retried. */
export interface MxedgeTargetRun {
  readonly reason: string
  /** Epoch seconds. */
  readonly retried_at: number
  readonly retried_by: string
}

/** The maximum number of earlier runs that a target stores. */
export const MAX_RUNS = 10

/** The course of an upgrade, fixed before its start. The rows of the targets contain the phase of each appliance. */
export interface MxedgeUpgradePlan {
  readonly strategy: string
  /** The number of phases, including empty ones. */
  readonly phases: number
  readonly phase_sizes: readonly number[]
  /** By phase; null: no phase has a gate. */
  readonly gates: readonly (PhaseGate | null)[] | null
  /** The gate before the first phase. Absent: there is none. */
  readonly start_gate?: StartGate
  /** Connected appliances of later phases take the places of absent ones. Absent: the phases keep their appliances. */
  readonly online_first?: true
  /** Null: no such limit. */
  readonly max_failure_percentage: number | null
  /** Targets without those that were skipped when planning: the base of the percentage. */
  readonly planned: number
  /** No appliance begins from then on, in epoch seconds. Absent: there is no such instant. */
  readonly ends_s?: number
  /** The windows of each site with maintenance windows. Absent: none has any. */
  readonly windows?: readonly PlaceWindows[]
}

/** The maintenance windows of a site; null: of appliances without one. */
export interface PlaceWindows {
  readonly site_id: string | null
  readonly timezone: string
  readonly windows: readonly MaintenanceWindow[]
}

export type MxedgeUpgradeStatus = 'queued' | 'upgrading' | 'completed' | 'failed' | 'cancelled'

/** A candidate that was left out, or an option without effect; without an id it concerns the whole upgrade. */
export interface MxedgeUpgradeNote {
  readonly mxedge_id?: string
  /** Another upgrade had the appliance when this one was planned. Absent: any other note. */
  readonly kind?: 'in_another_upgrade'
  /** Connected appliances have taken the places of absent ones. Absent: any other note. */
  readonly places?: ReplacedPlaces
  /** That of an appliance that could not join, and is thus no target. */
  readonly name?: string
  readonly reason: string
}
