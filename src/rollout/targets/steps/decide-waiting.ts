import { commandNext, fail, gone } from './decide-attempt.ts'
import { canStage, nextOrder } from './decide-order.ts'
import { findClosedUntil, findWindowWait } from './decide-window.ts'
import { isOnTarget } from './is-on-target.ts'
import { NOT_REBOOTED, OFFLINE } from '../../rollout.ts'
import type { DeviceNow, TargetDecision, TargetNow, TargetRules } from '../target.ts'

const wait: TargetDecision = { kind: 'wait' }

/** Decides the next step of a target that is not commanded, or waits for its reboot. */
export function decideWaiting(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, retryAtMs } = target
  const { nowMs, stopping, held, offlineDeadlineMs, graceUntilMs } = rules
  if (device === null) return gone
  if (stopping) return { kind: 'move', to: 'cancelled' }
  if (held) return wait
  if (isOverdue(target, rules)) return { kind: 'move', to: 'cancelled', reason: NOT_REBOOTED }
  if (target.downloadPhase !== null && nowMs < rules.rebootMs) return decideDownload(target, device, rules)
  // Before the reboots begin, only devices that download separately from their reboot may act, and only by downloading.
  if (nowMs < rules.rebootMs && !mayStageEarly(target, device)) return { kind: 'wait', untilMs: rules.rebootMs }
  if (device.link === 'connected') {
    if (isOnTarget(target, device) && !target.force)
      return { kind: 'move', to: target.attempt === 0 ? 'skipped' : 'verifying' }
    if (retryAtMs !== null && nowMs < retryAtMs) return { kind: 'wait', untilMs: retryAtMs }
    const { failedAttempts, lostAttempts, staged } = target
    if (!rules.mayDownload && !staged) return wait
    const closed = findWindowWait(nextOrder(device, staged), device, rules)
    if (closed !== null) return closed
    return commandNext({ device, staged }, rules, { failedAttempts, lostAttempts })
  }
  const closedUntilMs = findClosedUntil(rules)
  if (closedUntilMs !== null) return { kind: 'wait', untilMs: closedUntilMs, for: 'window' }
  if (target.state !== 'deferred') return device.link === 'expected' ? wait : { kind: 'move', to: 'deferred' }
  if (offlineDeadlineMs === null || nowMs < Math.max(offlineDeadlineMs, graceUntilMs)) return wait
  return fail(OFFLINE)
}

/**
 * Decides the next step of a target in a phase of the downloads, whose device must not reboot yet. A device that can't
 * download now is deferred, so that the next phase does not wait for it.
 */
function decideDownload(target: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  const { state, staged, retryAtMs, failedAttempts, lostAttempts } = target
  if (!rules.mayDownload && !staged) return wait
  const closedUntilMs = findClosedUntil(rules)
  const closed: TargetDecision | null =
    closedUntilMs === null ? null : { kind: 'wait', untilMs: closedUntilMs, for: 'window' }
  const defer: TargetDecision = closed ?? (state === 'planned' ? { kind: 'move', to: 'deferred' } : wait)
  if (device.link !== 'connected') return device.link === 'expected' ? wait : defer
  if (staged) return state === 'deferred' ? { kind: 'move', to: 'downloaded' } : wait
  if (isOnTarget(target, device) && !target.force)
    return { kind: 'move', to: target.attempt === 0 ? 'skipped' : 'verifying' }
  if (!canStage(device)) return defer
  if (retryAtMs !== null && rules.nowMs < retryAtMs) return { kind: 'wait', untilMs: retryAtMs }
  return closed ?? commandNext({ device, staged }, rules, { failedAttempts, lostAttempts })
}

/** True for a device that has had its image for so long that its reboot must not come as a surprise. */
function isOverdue({ state, enteredMs }: TargetNow, { nowMs, openedMs, options }: TargetRules): boolean {
  if (state !== 'downloaded' || openedMs === null) return false
  return nowMs >= Math.max(enteredMs, openedMs) + options.downloadedDeadlineMs
}

function mayStageEarly(target: TargetNow, device: DeviceNow): boolean {
  const wanted = target.force || !isOnTarget(target, device)
  return device.link === 'connected' && canStage(device) && !target.staged && wanted
}
