import type { LossReason } from '../devices/commands/command.ts'
import type { CommandState, DeviceType } from '../platform/schema/devices.ts'
import { OFFLINE, type RolloutOptions, type TargetState } from './rollout.ts'

/** What is known of the device now. */
export interface DeviceNow {
  readonly type: DeviceType
  readonly connected: boolean
  readonly connectedAt: Date | null
  readonly firmware: string | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  /** Of the members of a Virtual Chassis; empty for any other device. */
  readonly memberFirmware: readonly string[]
}

/** The target's latest command. */
export interface CommandNow {
  readonly id: string
  readonly state: CommandState
  /** Why it was refused, in the device's words. */
  readonly refusal: string | null
  /** Why its outcome is unknown. */
  readonly loss: LossReason | null
  readonly sentAt: Date | null
  readonly finishedAt: Date | null
}

/** What the device of that command fetched. */
export interface DownloadNow {
  readonly bytesServed: number
  readonly touchedAt: Date
  readonly delivered: boolean
  readonly fenced: boolean
}

export interface TargetNow {
  readonly deviceId: string
  readonly phase: number
  readonly state: TargetState
  readonly enteredAt: Date
  readonly fromVersion: string | null
  readonly targetVersion: string
  readonly imageId: string
  readonly force: boolean
  readonly attempt: number
  readonly failedAttempts: number
  /** Of the device when the latest command was made. */
  readonly bootCount: number | null
  /** Null once the device has left the organization. */
  readonly device: DeviceNow | null
  readonly command: CommandNow | null
  readonly download: DownloadNow | null
}

export type TargetDecision =
  /** `until`: nothing changes before, unless the device does something. */
  | { readonly kind: 'wait'; readonly until?: Date }
  | { readonly kind: 'move'; readonly to: TargetState; readonly reason?: string; readonly failedAttempts?: number }
  /** A new command goes out. */
  | { readonly kind: 'command'; readonly failedAttempts: number }
  /** Take back the command, which is queued still; it may just be leaving, so look again. */
  | { readonly kind: 'take_back'; readonly commandId: string }
  /** Make sure that the lost command can't flash any more, or learn that it may; then look again. */
  | { readonly kind: 'fence'; readonly commandId: string; readonly imageId: string }

export interface TargetRules {
  readonly now: Date
  readonly options: RolloutOptions
  /** No new command; what is under way may end. */
  readonly stopping: boolean
  /** The same, until somebody lets it go on. */
  readonly held: boolean
  /** After it, absent devices are given up. Null: not set yet. */
  readonly offlineDeadline: Date | null
}

const wait: TargetDecision = { kind: 'wait' }

/** What to do next about a target whose phase is open. Pure: the same facts give the same decision. */
export function decideTarget(target: TargetNow, rules: TargetRules): TargetDecision {
  switch (target.state) {
    case 'planned':
    case 'deferred':
      return decideWaiting(target, rules)
    case 'dl_requested':
    case 'downloading':
      return decideCommanded(target, rules)
    case 'rebooting':
      return decideRebooting(target, rules)
    case 'verifying':
      return decideVerifying(target, rules)
    case 'upgraded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return wait
  }
}

function decideWaiting(target: TargetNow, { now, stopping, held, offlineDeadline }: TargetRules): TargetDecision {
  const { device } = target
  if (stopping) return { kind: 'move', to: 'cancelled' }
  if (device === null) return gone
  if (held) return wait
  if (isOnTarget(target, device) && !target.force)
    return { kind: 'move', to: target.attempt === 0 ? 'skipped' : 'verifying' }
  if (device.connected) return { kind: 'command', failedAttempts: target.failedAttempts }
  if (target.state === 'planned') return { kind: 'move', to: 'deferred' }
  if (offlineDeadline === null || now < offlineDeadline) return wait
  return fail(OFFLINE)
}

function decideCommanded(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, command } = target
  // Commands go with their device.
  if (device === null || command === null) return gone
  const arrived = hasArrived(target, device)
  if (command.state === 'queued') {
    const unwanted = rules.stopping || rules.held || !device.connected || arrived
    return unwanted ? { kind: 'take_back', commandId: command.id } : wait
  }
  if (arrived) return verify(device, rules)
  switch (command.state) {
    case 'sent':
      return decideSent(target, command, rules)
    case 'done':
      return { kind: 'move', to: 'rebooting' }
    case 'rejected':
      return retry(target, { notBefore: pauseEnd(target, command, rules), rules, reason: command.refusal ?? 'refused' })
    case 'expired':
      // Never sent: an absent device is not to blame, a connected one that takes nothing is.
      if (!device.connected) return putOff(rules)
      return retry(target, { notBefore: pauseEnd(target, command, rules), rules, reason: 'unresponsive' })
    case 'cancelled':
      return repeat(target, rules)
    case 'unknown':
      return reconcile(target, command, rules)
  }
}

function decideSent(target: TargetNow, command: CommandNow, rules: TargetRules): TargetDecision {
  if (command.sentAt !== null && rules.now >= after(command.sentAt, rules.options.stallMs))
    return reconcile(target, command, rules)
  const moving = target.download !== null && target.download.bytesServed > 0
  return moving && target.state === 'dl_requested' ? { kind: 'move', to: 'downloading' } : wait
}

/**
 * The command was sent and its answer is lost: it may have run, so it is never simply repeated. A
 * device can flash only what it got whole from us. Either it did, and we wait for what becomes of it,
 * or the download is fenced, and the command is dead for certain.
 */
function reconcile(target: TargetNow, command: CommandNow, rules: TargetRules): TargetDecision {
  const { download, imageId } = target
  if (download?.fenced === true) {
    // We broke off, not the device: that costs it none of its attempts, however often we do.
    if (command.loss === 'gateway_lost') return repeat(target, rules)
    // The time that it took to be certain was pause enough.
    const reason = command.loss === 'connection_lost' ? 'connection_lost' : 'unresponsive'
    return retry(target, { notBefore: rules.now, rules, reason })
  }
  if (download?.delivered === true) return { kind: 'move', to: 'rebooting' }
  if (download !== null) {
    const idleAt = after(download.touchedAt, rules.options.downloadIdleMs)
    if (rules.now < idleAt) return { kind: 'wait', until: idleAt }
  }
  return { kind: 'fence', commandId: command.id, imageId }
}

/** The attempt came to nothing, and not by the device's doing. */
function repeat(target: TargetNow, rules: TargetRules): TargetDecision {
  if (rules.stopping || rules.held || target.device?.connected !== true) return putOff(rules)
  return { kind: 'command', failedAttempts: target.failedAttempts }
}

/** Doubles with each failed attempt. */
function pauseEnd(target: TargetNow, command: CommandNow, { options }: TargetRules): Date {
  return after(command.finishedAt ?? target.enteredAt, options.retryMs * 2 ** target.failedAttempts)
}

interface FailedAttempt {
  readonly rules: TargetRules
  readonly reason: string
  /** When the next one may go out. */
  readonly notBefore: Date
}

/** The attempt failed and left the device as it was. */
function retry(target: TargetNow, { rules, reason, notBefore }: FailedAttempt): TargetDecision {
  const { now, options, stopping, held } = rules
  const failedAttempts = target.failedAttempts + 1
  if (failedAttempts >= options.maxAttempts) return { ...fail(reason), failedAttempts }
  if (stopping) return { kind: 'move', to: 'cancelled', reason, failedAttempts }
  if (held || target.device?.connected !== true) return { kind: 'move', to: 'deferred', reason, failedAttempts }
  return now < notBefore ? { kind: 'wait', until: notBefore } : { kind: 'command', failedAttempts }
}

function decideRebooting(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device } = target
  if (device === null) return gone
  if (hasArrived(target, device)) return verify(device, rules)
  if (device.connected && hasRebooted(target, device) && !isOnTarget(target, device)) return fail('not_applied')
  const until = after(target.enteredAt, rebootTimeoutMs(device, rules.options))
  if (rules.now < until) return { kind: 'wait', until }
  return fail(device.connected ? 'not_applied' : 'no_reconnect')
}

function decideVerifying(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device } = target
  if (device === null) return gone
  if (device.connected && device.firmware !== target.targetVersion) return fail('not_applied')
  const { soakMs, verifyTimeoutMs } = rules.options
  const membersBehind = !isOnTarget(target, device)
  const stableAt = stableSince(device)
  if (stableAt !== null && !membersBehind) {
    const decision = verify(device, rules)
    if (decision.kind === 'move' && decision.to === 'upgraded') return decision
  }
  const until = after(target.enteredAt, soakMs + verifyTimeoutMs)
  if (rules.now >= until) return fail(membersBehind ? 'members_behind' : 'unstable')
  const soaked = stableAt === null || membersBehind ? until : after(stableAt, soakMs)
  return { kind: 'wait', until: soaked < until ? soaked : until }
}

/** Passes the device at once where it has been connected for long enough, or need not be. */
function verify(device: DeviceNow, { now, options }: TargetRules): TargetDecision {
  const stableAt = stableSince(device)
  const complete = device.memberFirmware.every((version) => version === device.firmware)
  const soaked = stableAt !== null && now >= after(stableAt, options.soakMs)
  return { kind: 'move', to: complete && soaked ? 'upgraded' : 'verifying' }
}

const gone: TargetDecision = { kind: 'move', to: 'cancelled', reason: 'removed' }

function fail(reason: string): Extract<TargetDecision, { kind: 'move' }> {
  return { kind: 'move', to: 'failed', reason }
}

function putOff({ stopping }: TargetRules): TargetDecision {
  return { kind: 'move', to: stopping ? 'cancelled' : 'deferred' }
}

/** Every member of a Virtual Chassis included. */
function isOnTarget({ targetVersion }: TargetNow, { firmware, memberFirmware }: DeviceNow): boolean {
  return firmware === targetVersion && memberFirmware.every((version) => version === targetVersion)
}

/** It runs the target version, and where it ran that before, it has rebooted since it was told to. */
function hasArrived(target: TargetNow, device: DeviceNow): boolean {
  if (!device.connected || device.firmware !== target.targetVersion) return false
  return target.fromVersion !== target.targetVersion || hasRebooted(target, device)
}

function hasRebooted({ bootCount, command }: TargetNow, device: DeviceNow): boolean {
  if (bootCount === null || device.bootCount <= bootCount) return false
  // A boot between making and sending the command is not its effect.
  return command === null || command.sentAt === null || device.bootedAt === null || device.bootedAt >= command.sentAt
}

function stableSince(device: DeviceNow): Date | null {
  return device.connected ? device.connectedAt : null
}

function rebootTimeoutMs(device: DeviceNow, { rebootTimeoutMs: timeouts }: RolloutOptions): number {
  return timeouts[device.memberFirmware.length > 1 ? 'virtual_chassis' : device.type]
}

function after(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
