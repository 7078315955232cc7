import { isHealthReason } from '../health/decide-health.ts'
import { fail, gone } from './decide-attempt.ts'
import { hasRebooted } from './has-rebooted.ts'
import { isOnTarget } from './is-on-target.ts'
import type { RolloutOptions } from '../../rollout.ts'
import type { CommandNow, DeviceNow, TargetDecision, TargetNow, TargetRules } from '../target.ts'

const wait: TargetDecision = { kind: 'wait' }

/** Failures of a device that installed the version and is worse off with it. */
const reasonsToRestore: ReadonlySet<string | undefined> = new Set(['no_reconnect', 'unstable'])

function isWorseOff(reason: string | undefined): boolean {
  return reasonsToRestore.has(reason) || isHealthReason(reason)
}

/** A restore that was not sent, or was lost with its connection, is requested this often in all. */
const MAX_REQUESTS = 3

/** Starts the restore of a device that would otherwise fail, if it is to be restored. */
export function restoreInstead(target: TargetNow, rules: TargetRules, decision: TargetDecision): TargetDecision {
  if (!rules.rollback || target.state === 'rolling_back') return decision
  if (decision.kind !== 'move' || decision.to !== 'failed' || !isWorseOff(decision.reason)) return decision
  const { device } = target
  if (device === null) return decision
  // The capabilities of the device with its new version are known once it is back.
  if (device.link !== 'connected') return { ...decision, to: 'rolling_back', failedAttempts: 0, lostAttempts: 0 }
  return device.commands.includes('restore_backup') ? request(target, decision.reason) : decision
}

/**
 * Decides the next step of a target whose device is to return to its backup version. A restore that was lost with its
 * connection is repeated only once the device is back with the version that it is to leave, and executes nothing. Neither a
 * pause nor a stop of the upgrade prevents it, since it returns the device to its former state.
 */
export function decideRollback(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, command } = target
  if (device === null) return gone
  const isRequested = command?.kind === 'restore_backup' && command.state !== 'expired' && command.state !== 'cancelled'
  const isBack = device.link === 'connected'
  if (isRequested && command.state === 'queued') return decideQueued(target, device, rules)
  // A device that refuses a repeated restore may be executing the first one.
  if (isRequested && command.state === 'rejected' && target.lostAttempts === 0) return fail('rollback_failed')
  if (hasReturned(target, device)) return decideReturned(target, device, rules)
  const isLast = target.failedAttempts >= MAX_REQUESTS
  if (isBack && !isRequested) {
    if (!isLast && device.commands.includes('restore_backup')) return request(target)
    if (isLast || !lacksMember(device)) return fail('rollback_failed')
  }
  if (isBack && isRequested && hasKeptVersion(target, device, { command, rules })) return fail('rollback_failed')
  const deadlineMs = Math.max(target.enteredMs + rollbackMs(device, rules.options), isBack ? 0 : rules.graceUntilMs)
  const repeatMs = isLast || command === null ? null : repeatAtMs(target, { device, command, rules })
  if (repeatMs !== null && rules.nowMs >= repeatMs) return request({ ...target, lostAttempts: target.lostAttempts + 1 })
  if (rules.nowMs >= deadlineMs) return fail('rollback_failed')
  return { kind: 'wait', untilMs: Math.min(repeatMs ?? Infinity, deadlineMs) }
}

interface Restoring {
  readonly device: DeviceNow
  readonly command: CommandNow
  readonly rules: TargetRules
}

/**
 * Returns when the restore may be requested again; null: not as things are. A device that reports the version that it is
 * to leave has not restored the other one. If it has booted since the request, or is known to be idle, it does not execute
 * the request any more; otherwise it may be shutting down, and gets the time for that.
 */
function repeatAtMs(target: TargetNow, { device, command, rules }: Restoring): number | null {
  const { kind, state, loss, isIdle } = command
  const isLost = kind === 'restore_backup' && state === 'unknown' && loss !== 'timeout'
  if (!isLost || device.connectedMs === null || !device.commands.includes('restore_backup')) return null
  if (!isOnTarget(target, device)) return null
  const isOver = isIdle || hasRebooted(target, device, rules)
  return isOver ? rules.nowMs : device.connectedMs + rules.options.shutdownMs
}

/** True if the device accepted the restore, and has booted since with the version that it was to leave. */
function hasKeptVersion(
  target: TargetNow,
  device: DeviceNow,
  { command, rules }: Pick<Restoring, 'command' | 'rules'>,
): boolean {
  return command.state === 'done' && isOnTarget(target, device) && hasRebooted(target, device, rules)
}

/** A restored device has to stay connected for as long as an upgraded one; it is not restored again. */
function decideReturned({ enteredMs }: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  const { nowMs, options, graceUntilMs } = rules
  const { connectedMs } = device
  const untilMs = Math.max(enteredMs + rollbackMs(device, options), graceUntilMs)
  if (connectedMs !== null && connectedMs <= untilMs) {
    const soakedMs = connectedMs + options.soakMs
    return nowMs < soakedMs ? { kind: 'wait', untilMs: soakedMs } : fail('rolled_back')
  }
  return nowMs < untilMs ? { kind: 'wait', untilMs } : fail('rolled_back_unstable')
}

function decideQueued({ command, enteredMs }: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  const isOverdue = rules.nowMs >= enteredMs + rules.options.commandExpiryMs
  if (command === null || (device.link !== 'absent' && !isOverdue)) return wait
  return { kind: 'withdraw', commandId: command.id }
}

/** @param reason Why the upgrade failed, where the restore begins with the request. */
function request({ state, failedAttempts, lostAttempts }: TargetNow, reason?: string): TargetDecision {
  const isFirst = state !== 'rolling_back'
  const counted = { failedAttempts: isFirst ? 1 : failedAttempts + 1, lostAttempts: isFirst ? 0 : lostAttempts }
  return { kind: 'command', order: 'restore_backup', ...counted, ...(reason !== undefined && { reason }) }
}

/**
 * True if the device has been connected with another version since its restore began. An absent one may have had that version
 * before, without ever having returned from the upgrade.
 */
function hasReturned(target: TargetNow, device: DeviceNow): boolean {
  if (!hasOldVersion(target, device)) return false
  const wasBack = device.disconnectedMs !== null && device.disconnectedMs > target.enteredMs
  return device.link === 'connected' || target.command?.kind === 'restore_backup' || wasBack
}

/** Every member of a Virtual Chassis included. */
function hasOldVersion({ targetVersion }: TargetNow, { firmware, memberFirmware }: DeviceNow): boolean {
  return firmware !== targetVersion && memberFirmware.every((version) => version !== targetVersion)
}

/** A Virtual Chassis boots member by member, and restores its backup version only when all of them are present. */
function lacksMember({ memberFirmware }: DeviceNow): boolean {
  return memberFirmware.includes('')
}

function rollbackMs(
  { memberFirmware, type }: DeviceNow,
  { rollbackMs: timeout, rebootTimeoutMs }: RolloutOptions,
): number {
  return memberFirmware.length < 2
    ? timeout
    : Math.max(timeout, rebootTimeoutMs[type === 'gateway' ? 'cluster' : 'virtual_chassis'])
}
