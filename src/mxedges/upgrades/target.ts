import type { RolloutOptions } from '../../rollout/rollout.ts'
import type { DeviceLink } from '../../rollout/target.ts'
import type { MxedgeService } from '../sessions/facts.ts'
import type { MxedgeStep, MxedgeTargetState } from './upgrade.ts'

/** Times in `...Ms` are service time here and below. */
export interface ApplianceNow {
  readonly link: DeviceLink
  /** When its connection was opened; null without one. */
  readonly connectedMs: number | null
  /** Another appliance may register, or has registered, in its place since the upgrade was planned. */
  readonly isReplaced: boolean
  /** It has left the site whose upgrade this is. */
  readonly hasLeft: boolean
  readonly clusterId: string | null
  /** Its agent can download a package before it installs it. */
  readonly canStage: boolean
  /** The same for what an upgrade of its distribution needs. */
  readonly canStageDistro: boolean
  /** As it reported last. */
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
}

export interface MxedgeTargetNow {
  readonly mxedgeId: string
  readonly phase: number
  readonly wave: number
  /** Where it was when the upgrade was planned. */
  readonly plannedSiteId: string | null
  readonly state: MxedgeTargetState
  readonly enteredMs: number
  readonly steps: readonly MxedgeStep[]
  /** The place of the present step among them, from 0. */
  readonly step: number
  /** The packages of the steps before this one are downloaded, as far as the appliance needs them. */
  readonly staged: number
  /** How many commands were queued for it. */
  readonly attempt: number
  /** Attempts at the present step that the appliance refused or failed. */
  readonly failedAttempts: number
  /** Attempts at the present step that were not sent, or whose end nobody knows. */
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
  /** The step that is commanded with it, to be downloaded in the state `downloading`, or else to be done; null: none. */
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
  /** How long an appliance that was commanded may be away. */
  readonly reconnectMs: { readonly service: number; readonly distro: number }
}

export interface TargetRules {
  readonly nowMs: number
  readonly options: MxedgeUpgradeOptions
  /** No new command is queued; attempts in flight may end. */
  readonly stopping: boolean
  /** The same, until somebody resumes the upgrade. */
  readonly held: boolean
  /** The target's phase has begun: it may download. */
  readonly isPhaseOpen: boolean
  /** The target's phase and wave have begun: it may install. */
  readonly isOpen: boolean
  /** No other member of its cluster is in flight. */
  readonly isClusterFree: boolean
  /** After this time absent appliances are given up. Null: not set yet. */
  readonly offlineDeadlineMs: number | null
  /** Until this time absent appliances may still be on their way back, after a start of the service. */
  readonly graceUntilMs: number
  /**
   * Returns when an appliance that needs so long may begin, so that it ends in a maintenance window of its site; null:
   * none is long enough.
   */
  beginMs(needMs: number): number | null
}
