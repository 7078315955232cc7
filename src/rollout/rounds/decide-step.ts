import type { CountsByPhase } from '../stops/decide-stop.ts'
import {
  LEFT_SITE,
  OFFLINE,
  REMOVED,
  REPLACED,
  type TargetCounts,
  type TargetState,
  type UpgradeHop,
} from '../rollout.ts'
import type { TargetDecision, TargetNow, UpgradeOrder } from '../targets/target.ts'

/** The next state of a target. */
export interface Step {
  readonly target: TargetNow
  readonly to: TargetState
  readonly reason: string | null
  readonly failedAttempts: number
  readonly lostAttempts: number
  readonly retryAtMs: number | null
  readonly staged: boolean
  /** The command that goes out with it; null: none. */
  readonly order: UpgradeOrder | null
  /** The version that the target goes on to. Absent: the present one. */
  readonly hop?: UpgradeHop | undefined
}

/** The state of a target whose command has just been queued. */
export const commandedStates = {
  upgrade: 'dl_requested',
  stage: 'dl_requested',
  activate: 'reboot_requested',
  snapshot: 'snapshotting',
  restore_backup: 'rolling_back',
} as const satisfies Record<UpgradeOrder, TargetState>

/** Returns null if the target and its command do not change. */
export function stepOf(target: TargetNow, decision: TargetDecision): Step | null {
  switch (decision.kind) {
    case 'command': {
      const { order, failedAttempts, lostAttempts, reason = null } = decision
      const step = { target, to: commandedStates[order], reason, retryAtMs: null }
      return { ...step, order, staged: order === 'activate', failedAttempts, lostAttempts }
    }
    case 'pause': {
      const { reason, failedAttempts, lostAttempts, retryAtMs, staged = target.staged } = decision
      return { target, to: target.state, reason, failedAttempts, lostAttempts, retryAtMs, staged, order: null }
    }
    case 'move': {
      const { to, reason = null, retryAtMs = null, hop } = decision
      const { failedAttempts = target.failedAttempts, lostAttempts = target.lostAttempts } = decision
      if (to === target.state && hop === undefined) return null
      const staged = to === 'downloaded' || (decision.staged ?? target.staged)
      const step = { target, to, reason, failedAttempts, lostAttempts, retryAtMs, staged, order: null }
      return hop === undefined ? step : { ...step, hop }
    }
    case 'wait':
    case 'withdraw':
    case 'fence':
      return null
  }
}

export function countSteps(counts: TargetCounts, steps: readonly Step[]): TargetCounts {
  const changed = { ...counts }
  for (const { target, to } of steps) {
    changed[target.state] -= 1
    changed[to] += 1
  }
  return changed
}

interface EndOfTarget {
  readonly target: { readonly state: string }
  readonly to: string
  readonly reason: string | null
}

/**
 * Counts the steps that cancel targets without a stop: of devices that have left, that nothing has rebooted, or that have gone back to too low a version.
 * @param isStopping True if the upgrade stops. Devices that have left would not have been upgraded in any case.
 */
export function countReleased(steps: readonly EndOfTarget[], isStopping: boolean): number {
  return steps.filter(({ to, reason }) => to === 'cancelled' && (!isStopping || hasLeft(reason))).length
}

function hasLeft(reason: string | null): boolean {
  return reason === REMOVED || reason === REPLACED || reason === LEFT_SITE
}

/** A device that is restored counts when its restore begins, because limits must not wait for the end of it. */
export function isHardFailure({ target, to, reason }: EndOfTarget): boolean {
  if (target.state === 'rolling_back') return false
  return to === 'rolling_back' || (to === 'failed' && isHardReason(reason))
}

export function isHardReason(reason: string | null): boolean {
  return reason !== OFFLINE
}

/** True if the device did everything that was requested. */
export function isSuccess({ to }: { readonly to: string }): boolean {
  return to === 'upgraded' || to === 'staged'
}

/** True if the device has just been verified, and is to be commanded to take a recovery snapshot. */
export function beginsSnapshot({ target, to }: Pick<Step, 'target' | 'to'>): boolean {
  return to === 'snapshotting' && target.state !== 'snapshotting'
}

/** The counts with one more for the phase of each step. */
export function countByPhase(
  counts: CountsByPhase,
  steps: readonly { readonly target: { readonly phase: number } }[],
): CountsByPhase {
  const changed: Record<string, number> = { ...counts }
  for (const { target } of steps) changed[target.phase] = (changed[target.phase] ?? 0) + 1
  return changed
}
