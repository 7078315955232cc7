import { nextOrder } from './decide-order.ts'
import { findWindowWait } from './decide-window.ts'
import { REMOVED } from '../../rollout.ts'
import type { DeviceNow, TargetDecision, TargetNow, TargetRules } from '../target.ts'

/** Doublings of the pause between attempts; from then on it stays the same. */
const MAX_DOUBLINGS = 5
/**
 * A device whose connection breaks this often during an upgrade can't complete it, nor one that the server has no room
 * for this often. With the pauses between the attempts that takes seven hours.
 */
const MAX_LOST_ATTEMPTS = 30

export interface EndedAttempt {
  readonly reason: string
  /** True if the device is at fault. Failures of the network or the service cost the device no attempt. */
  readonly costs: boolean
  /** Default: grows with each attempt of the same kind. */
  readonly pauseMs?: number
}

/** Ends an attempt that left the device as it was: the next one follows after a pause, unless it was the last. */
export function pauseAttempt(
  target: TargetNow,
  rules: TargetRules,
  { reason, costs, pauseMs }: EndedAttempt,
): TargetDecision {
  const { device, retryAtMs } = target
  if (device === null) return gone
  // A device at fault may have lost the image that it had downloaded.
  const staged = target.staged && !costs
  const lost = target.staged && !staged ? { staged } : {}
  if (retryAtMs !== null) return repeatAttempt({ ...target, staged }, device, rules)
  const { nowMs, options } = rules
  const failedAttempts = target.failedAttempts + (costs ? 1 : 0)
  const lostAttempts = target.lostAttempts + (costs ? 0 : 1)
  const counted = { failedAttempts, lostAttempts }
  if (failedAttempts >= options.maxAttempts || lostAttempts >= MAX_LOST_ATTEMPTS) return { ...fail(reason), ...counted }
  const doublings = Math.min(MAX_DOUBLINGS, (costs ? failedAttempts : lostAttempts) - 1)
  const nextMs = nowMs + (pauseMs ?? options.retryMs * 2 ** doublings)
  if (isStopped(rules) || device.link === 'absent')
    return { ...suspend({ device, staged }, rules, nextMs), reason, ...counted, ...lost }
  if (nextMs <= nowMs && device.link === 'connected') return commandNext({ device, staged }, rules, counted)
  return { kind: 'pause', reason, ...counted, retryAtMs: nextMs, ...lost }
}

/**
 * Repeats the attempt without counting it as failed: immediately, when its pause is over, or when the device is back.
 */
export function repeatAttempt(target: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  const { retryAtMs, failedAttempts, lostAttempts } = target
  const { staged } = target
  if (isStopped(rules) || device.link === 'absent') return suspend({ device, staged }, rules, retryAtMs)
  if (retryAtMs !== null && rules.nowMs < retryAtMs) return { kind: 'wait', untilMs: retryAtMs }
  if (device.link === 'expected') return { kind: 'wait' }
  return commandNext({ device, staged }, rules, { failedAttempts, lostAttempts })
}

/**
 * Commands the next step, unless it would reboot the device too early, or outside of the maintenance windows. The device's
 * capabilities may have changed since it began.
 */
export function commandNext(
  { device, staged }: { readonly device: DeviceNow; readonly staged: boolean },
  rules: TargetRules,
  counted: Pick<TargetNow, 'failedAttempts' | 'lostAttempts'>,
): TargetDecision {
  const order = nextOrder(device, staged)
  const wait = findWindowWait(order, device, rules)
  if (wait?.kind === 'move') return { ...wait, ...counted }
  if (wait !== null || (order !== 'stage' && rules.nowMs < rules.rebootMs))
    return { ...suspend({ device, staged }, rules), ...counted }
  return { kind: 'command', order, ...counted }
}

export const gone: TargetDecision = { kind: 'move', to: 'cancelled', reason: REMOVED }

export function fail(reason: string): Extract<TargetDecision, { kind: 'move' }> {
  return { kind: 'move', to: 'failed', reason }
}

/** Ends the attempt for now. Only an absent device stops counting for its phase; the gate waits for all others. */
export function suspend(
  { device, staged }: { readonly device: DeviceNow; readonly staged: boolean },
  { stopping }: TargetRules,
  retryAtMs: number | null = null,
): Extract<TargetDecision, { kind: 'move' }> {
  if (stopping) return { kind: 'move', to: 'cancelled' }
  const there = staged ? 'downloaded' : 'planned'
  const to = device.link === 'absent' ? 'deferred' : there
  return { kind: 'move', to, ...(retryAtMs !== null && { retryAtMs }) }
}

/** True if no new command may go out, for good or for now. */
export function isStopped({ stopping, held }: Pick<TargetRules, 'stopping' | 'held'>): boolean {
  return stopping || held
}
