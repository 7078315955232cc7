import type { RolloutOptions } from '../../rollout/rollout.ts'
import type { DeviceLink } from '../../rollout/targets/target.ts'
import type { MxedgeService } from '../sessions/facts.ts'
import type { MxedgeStep, MxedgeTargetState } from './upgrade.ts'

/** Times in `...Ms` are service time here and below. */
export interface ApplianceNow {
  readonly link: DeviceLink
  /** When its connection was opened; null without one, or if the wall clock was set back to before that. */
  readonly connectedMs: number | null
  /** True if another appliance may register, or has registered, in its place since the upgrade was planned. */
  readonly isReplaced: boolean
  /** True if it has left the site of the upgrade. */
  readonly hasLeft: boolean
  readonly clusterId: string | null
  /** True if its agent can download a package before it installs it. */
  readonly canStage: boolean
  /** The same for the files of a distribution upgrade. */
  readonly canStageDistro: boolean
  /** Its last report. */
  readonly services: readonly MxedgeService[]
  readonly distro: string | null
}

/** The target's latest command. */
export interface StepCommand {
  readonly id: string
  readonly state: 'queued' | 'sent' | 'done' | 'rejected' | 'unknown' | 'expired' | 'cancelled'
  /** Why it was refused, in the appliance's words. */
  readonly refusal: string | null
  /** A further attempt would be refused as well. */
  readonly refusalIsFinal: boolean
  /** The agent has connected since it was sent, and does not know it: it never began. */
  readonly isForgotten: boolean
  /** The gateway, not the appliance, ended the connection over which it was sent. */
  readonly isGatewayLost: boolean
  /** The connected appliance did not answer in time. */
  readonly isTimedOut: boolean
}

export interface MxedgeTargetNow {
  readonly mxedgeId: string
  readonly phase: number
  readonly wave: number
  /** Its site when the upgrade was planned. */
  readonly plannedSiteId: string | null
  readonly state: MxedgeTargetState
  readonly enteredMs: number
  readonly steps: readonly MxedgeStep[]
  /** The place of the present step among them, from 0. */
  readonly step: number
  /** The packages of the steps before this one are downloaded, as far as the appliance needs them. */
  readonly staged: number
  /** The number of commands that were queued for it. */
  readonly attempt: number
  /** Attempts at the present step that the appliance refused or failed. */
  readonly failedAttempts: number
  /** Attempts at the present step that were not sent, or whose result is unknown. */
  readonly lostAttempts: number
  /** The next attempt is queued no earlier than this. */
  readonly retryAtMs: number | null
  /** Null once the appliance was deleted. */
  readonly appliance: ApplianceNow | null
  readonly command: StepCommand | null
}

/** The members of a target that a round changes. */
export interface TargetChange extends Pick<
  MxedgeTargetNow,
  'state' | 'steps' | 'step' | 'staged' | 'failedAttempts' | 'lostAttempts' | 'retryAtMs'
> {
  readonly reason: string | null
  /** The step to command: to download in the state `downloading`, otherwise to install; null: none. */
  readonly order: MxedgeStep | null
}

export type TargetDecision =
  | { readonly kind: 'wait' }
  /** Withdraws the command, which is still queued; it may just be leaving, so another decision follows. */
  | { readonly kind: 'withdraw'; readonly commandId: string }
  | { readonly kind: 'change'; readonly change: TargetChange }

/** The time limits of upgrades of edge appliances, in service time. */
export interface MxedgeUpgradeOptions extends Pick<
  RolloutOptions,
  | 'soakMs'
  | 'verifyTimeoutMs'
  | 'retryMs'
  | 'maxAttempts'
  | 'commandExpiryMs'
  | 'reconnectGraceMs'
  | 'offlineDeadlineMs'
> {
  /** How long a connected appliance has to answer a command whose connection was lost. */
  readonly answerMs: Readonly<Record<'download' | 'distroDownload' | 'service' | 'distro', number>>
  /** How long a commanded appliance may be away. */
  readonly reconnectMs: { readonly service: number; readonly distro: number }
}

export interface TargetRules {
  readonly nowMs: number
  readonly options: MxedgeUpgradeOptions
  /** No new command is queued; attempts in flight may end. */
  readonly stopping: boolean
  /** The same, until a person resumes the upgrade. */
  readonly held: boolean
  /** The target's phase has begun: it may download. */
  readonly isPhaseOpen: boolean
  /** The target's phase and wave have begun: it may install. */
  readonly isOpen: boolean
  /** True if no other member of its cluster is in flight. */
  readonly isClusterFree: boolean
  /** The time after which the upgrade gives up absent appliances. Null: not set yet. */
  readonly offlineDeadlineMs: number | null
  /** The time until which absent appliances may still be reconnecting, after a start of the service. */
  readonly graceUntilMs: number
  /**
   * Returns when an appliance that needs `needMs` may begin, so that it ends in a maintenance window of its site; null: no
   * window is long enough.
   */
  beginMs(needMs: number): number | null
}
