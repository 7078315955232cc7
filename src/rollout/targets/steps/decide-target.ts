import { fail, gone, isStopped, pauseAttempt, repeatAttempt } from './decide-attempt.ts'
import { checkHealthInstead } from '../health/decide-health.ts'
import { decideRollback, restoreInstead } from './decide-rollback.ts'
import { decideSnapshot } from './decide-snapshot.ts'
import { decideWaiting } from './decide-waiting.ts'
import { findWindowWait, rebootTimeoutMs } from './decide-window.ts'
import { hopInstead } from '../hops/hops.ts'
import { hasRebooted } from './has-rebooted.ts'
import { isOnTarget } from './is-on-target.ts'
import { DOWNLOAD_REFUSED, NOT_APPLIED, type RolloutOptions } from '../../rollout.ts'
import type { CommandNow, DeviceNow, TargetDecision, TargetNow, TargetRules, UpgradeOrder } from '../target.ts'

const wait: TargetDecision = { kind: 'wait' }

/** Decides the next step of a target whose phase is open. Pure: the same facts give the same decision. */
export function decideTarget(target: TargetNow, rules: TargetRules): TargetDecision {
  const checked = checkHealthInstead(target, rules, decideNextStep(target, rules))
  const next = hopInstead(target, rules.stopping, checked)
  return limitTo(rules.only, refuseUnfit(target, restoreInstead(target, rules, next)))
}

/**
 * Ends a target instead of commanding its device to install an image that can't be installed on the version that it runs by now, or
 * must not replace it. That is no failure: another upgrade finds its way through the versions in between.
 */
function refuseUnfit({ unfit }: TargetNow, decision: TargetDecision): TargetDecision {
  const installs = decision.kind === 'command' && installing.has(decision.order)
  return installs && unfit !== undefined ? { kind: 'move', to: 'cancelled', reason: unfit } : decision
}

const installing: ReadonlySet<UpgradeOrder> = new Set(['upgrade', 'stage', 'activate'])

/** Ends a target whose next step is outside the requested part. */
function limitTo(only: TargetRules['only'], decision: TargetDecision): TargetDecision {
  if (only === null) return decision
  if (decision.kind === 'command' && decision.order !== only) return fail(`not_${only}d`)
  return only === 'stage' && decision.kind === 'move' && decision.to === 'downloaded'
    ? { ...decision, to: 'staged', staged: true }
    : decision
}

function decideNextStep(target: TargetNow, rules: TargetRules): TargetDecision {
  switch (target.state) {
    case 'planned':
    case 'deferred':
    case 'downloaded':
      return decideWaiting(target, rules)
    case 'dl_requested':
    case 'downloading':
    case 'reboot_requested':
      return decideCommanded(target, rules)
    case 'rebooting':
      return decideRebooting(target, rules)
    case 'verifying':
      return decideVerifying(target, rules)
    case 'snapshotting':
      return decideSnapshot(target, rules)
    case 'rolling_back':
      return decideRollback(target, rules)
    case 'upgraded':
    case 'staged':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return wait
  }
}

function decideCommanded(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, command } = target
  // Commands are deleted with their device.
  if (device === null || command === null) return gone
  const arrived = hasArrived(target, device, rules)
  if (command.state === 'queued') {
    const { commandExpiryMs } = rules.options
    const unwanted =
      isStopped(rules) || device.link === 'absent' || arrived || findWindowWait(command.kind, device, rules) !== null
    const overdue = rules.nowMs >= target.enteredMs + commandExpiryMs
    return unwanted || overdue ? { kind: 'withdraw', commandId: command.id } : wait
  }
  if (arrived) return verify(device, rules)
  switch (command.state) {
    case 'sent':
      return decideSent(target, command, rules)
    case 'done':
      return { kind: 'move', to: command.kind === 'stage' ? 'downloaded' : 'rebooting' }
    case 'rejected':
      return decideRejected(target, device, { command, rules })
    case 'expired':
    case 'cancelled':
      return repeatAttempt(target, device, rules)
    case 'unknown':
      return reconcile(target, device, { command, rules })
  }
}

interface Commanded {
  readonly command: CommandNow
  readonly rules: TargetRules
}

function decideRejected(target: TargetNow, device: DeviceNow, { command, rules }: Commanded): TargetDecision {
  const reason = command.refusal ?? 'refused'
  if (command.refusalIsFinal) return { ...fail(reason), failedAttempts: target.failedAttempts + 1 }
  // The device may be busy with an attempt whose connection was lost.
  if (command.refusalIsBusy) return pauseAttempt(target, rules, { reason, costs: false })
  // The service went down while the device downloaded from it. The last bytes count as delivered before they are sent.
  if (command.lost === 'gateway_lost' && command.kind !== 'activate') return repeatAttempt(target, device, rules)
  if (wasTurnedAway(target, command, rules))
    return pauseAttempt(target, rules, { reason: DOWNLOAD_REFUSED, costs: false })
  return pauseAttempt(target, rules, { reason, costs: true })
}

/**
 * True if the server has turned clients away since the command, or since the download of the device broke off. It can't
 * tell whether the device was among them: it closes connections before it knows whose they are.
 */
function wasTurnedAway({ enteredMs, download }: TargetNow, { kind }: CommandNow, { crowdedMs }: TargetRules): boolean {
  // An activation downloads nothing.
  if (kind === 'activate' || crowdedMs === null) return false
  if (download === null) return crowdedMs >= enteredMs
  return !download.delivered && !download.fenced && crowdedMs >= download.touchedMs
}

function decideSent(target: TargetNow, command: CommandNow, rules: TargetRules): TargetDecision {
  const { device, download } = target
  if (device === null) return gone
  if (rules.stopping && command.kind !== 'activate') {
    const delivered = download?.delivered === true
    if (download?.fenced === true || (delivered && command.kind === 'stage')) return { kind: 'move', to: 'cancelled' }
    // A device that has the image flashes it, whatever the engine decides; the download of any other one is cut off
    // immediately.
    if (!delivered) return { kind: 'fence', commandId: command.id, imageId: target.imageId }
  }
  if (rules.nowMs >= target.enteredMs + rules.options.stallMs) return reconcile(target, device, { command, rules })
  const moving = download !== null && download.bytesServed > 0
  return moving && target.state === 'dl_requested' ? { kind: 'move', to: 'downloading' } : wait
}

/**
 * The command was sent and its answer was lost: it may have run, so it is never simply repeated. A device can flash
 * only an image that it has received completely. Either it has, and the engine waits for the result, or the download is
 * fenced, and the command is certainly dead. A device that only had to download then has the image. A device that is
 * back and idle needs no time for any of that.
 */
function reconcile(target: TargetNow, device: DeviceNow, { command, rules }: Commanded): TargetDecision {
  const { download, imageId } = target
  const isOver = command.isIdle && !hasRebooted(target, device, rules)
  if (command.kind === 'activate') {
    if (isOver || endedBeforeReboot(command, device)) return repeatLost(target, device, { command, rules })
    // Nothing can prevent a device from activating an image that it has.
    return { kind: 'move', to: 'rebooting' }
  }
  if (download?.fenced === true) return repeatLost(target, device, { command, rules })
  if (isOver && download?.delivered === true) return repeatLost(target, device, { command, rules })
  if (download?.delivered === true) return { kind: 'move', to: command.kind === 'stage' ? 'downloaded' : 'rebooting' }
  if (download !== null && !rules.stopping && !command.isIdle && !endedWithService(command)) {
    const idleAtMs = download.touchedMs + rules.options.downloadIdleMs
    if (rules.nowMs < idleAtMs) return { kind: 'wait', untilMs: idleAtMs }
  }
  return { kind: 'fence', commandId: command.id, imageId }
}

/** True if the download of the command ended with the service that sent it: for `upgrade`, a device makes a single request. */
function endedWithService({ kind, loss }: CommandNow): boolean {
  return kind === 'upgrade' && loss === 'gateway_lost'
}

/** True if the command ended with its connection before it requested a reboot, and may be repeated. */
function endedBeforeReboot({ kind, state, loss, mayReboot }: CommandNow, { repeatable }: DeviceNow): boolean {
  if (state !== 'unknown' || mayReboot || !repeatable.includes(kind)) return false
  return loss === 'gateway_lost' || loss === 'connection_lost'
}

/** Repeats a lost command that can't reboot the device any more. */
function repeatLost(target: TargetNow, device: DeviceNow, { command: { loss }, rules }: Commanded): TargetDecision {
  // The gateway ended the connection itself, so the device need not wait either.
  if (loss === 'gateway_lost') return repeatAttempt(target, device, rules)
  if (loss === 'connection_lost') return pauseAttempt(target, rules, { reason: 'connection_lost', costs: false })
  // The time that this certainty took was pause enough.
  return pauseAttempt(target, rules, { reason: 'unresponsive', costs: true, pauseMs: 0 })
}

function decideRebooting(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, command } = target
  const { nowMs, options, graceUntilMs } = rules
  if (device === null) return gone
  if (hasArrived(target, device, rules)) return verify(device, rules)
  if (command?.state === 'rejected') return decideRejected(target, device, { command, rules })
  const deadlineMs = target.enteredMs + timeoutOf(device, options)
  if (device.link !== 'connected') {
    const untilMs = Math.max(deadlineMs, graceUntilMs)
    return nowMs < untilMs ? { kind: 'wait', untilMs } : fail('no_reconnect')
  }
  if (hasRebooted(target, device, rules)) {
    if (!isOnTarget(target, device)) return fail(NOT_APPLIED)
    // Only some members of a Virtual Chassis run the version, or the boot preceded the download.
    return nowMs < deadlineMs ? { kind: 'wait', untilMs: deadlineMs } : fail(NOT_APPLIED)
  }
  if (command?.state === 'unknown' && command.isIdle) return repeatLost(target, device, { command, rules })
  // The device has, or had, the image and did not boot: after long enough it never will.
  const quietMs = Math.max(target.enteredMs, device.connectedMs ?? nowMs) + quietTimeMs(target, device, options)
  if (nowMs < quietMs) return { kind: 'wait', untilMs: quietMs }
  if (rules.stopping) return nowMs < deadlineMs ? { kind: 'wait', untilMs: deadlineMs } : fail(NOT_APPLIED)
  // A device that had accepted the upgrade failed; where its answer was lost, the image may have arrived incomplete.
  return pauseAttempt(target, rules, { reason: NOT_APPLIED, costs: command?.state === 'done', pauseMs: 0 })
}

function decideVerifying(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device } = target
  if (device === null) return gone
  if (device.link === 'connected' && device.firmware !== target.targetVersion) return fail(NOT_APPLIED)
  const { soakMs, verifyTimeoutMs } = rules.options
  const { nowMs, graceUntilMs } = rules
  const membersBehind = !isOnTarget(target, device)
  const decision = verify(device, rules)
  if (decision.to !== 'verifying') return decision
  const deadlineMs = target.enteredMs + soakMs + verifyTimeoutMs
  const returnByMs = Math.max(deadlineMs, graceUntilMs)
  // A device that came back in time gets its soak.
  const isBack = device.connectedMs !== null && device.connectedMs <= returnByMs
  const untilMs = isBack ? Math.max(deadlineMs, (device.connectedMs ?? 0) + soakMs) : returnByMs
  if (nowMs >= untilMs) return fail(membersBehind ? 'members_behind' : 'unstable')
  const soakedMs = device.connectedMs === null || membersBehind ? untilMs : device.connectedMs + soakMs
  return { kind: 'wait', untilMs: Math.min(soakedMs, untilMs) }
}

/** Passes the device once it has been connected for long enough, or immediately if that is not required. */
function verify(
  { connectedMs, memberFirmware, firmware }: DeviceNow,
  { nowMs, options, snapshot }: TargetRules,
): Extract<TargetDecision, { readonly kind: 'move' }> {
  const complete = memberFirmware.every((version) => version === firmware)
  const soaked = connectedMs !== null && nowMs >= connectedMs + options.soakMs
  if (!complete || !soaked) return { kind: 'move', to: 'verifying' }
  return { kind: 'move', to: snapshot ? 'snapshotting' : 'upgraded' }
}

/** True if the device runs the target version and, where it ran that before, has fetched the image and booted since. */
function hasArrived(target: TargetNow, device: DeviceNow, rules: TargetRules): boolean {
  if (device.link !== 'connected' || device.firmware !== target.targetVersion) return false
  if (target.fromVersion !== target.targetVersion) return true
  return wasFetched(target) && hasRebooted(target, device, rules)
}

/** True if the whole image has reached the device, and the device was commanded to install it. */
function wasFetched({ fetched, download, command }: TargetNow): boolean {
  if (fetched || command === null || command.kind === 'stage') return fetched
  if (command.kind === 'activate') return command.sentAt !== null
  return download?.delivered === true || command.state === 'done'
}

/** Returns how long a device that may be flashing is left alone: a switch stays connected while it installs. */
function quietTimeMs({ command }: TargetNow, device: DeviceNow, options: RolloutOptions): number {
  // Only the answer to its reboot was lost: it has installed, and may be shutting down. A device that does not, has not
  // got the request, or not executed it, and reboots once however often it is requested.
  if (command?.state === 'unknown' && command.mayReboot)
    return device.isBootKnown && device.repeatable.includes(command.kind)
      ? options.shutdownMs
      : timeoutOf(device, options)
  const mayInstall = device.type !== 'ap' && command?.state !== 'done'
  return mayInstall ? options.installMs : options.notAppliedMs
}

function timeoutOf({ type, memberFirmware }: DeviceNow, options: RolloutOptions): number {
  return rebootTimeoutMs({ type, members: memberFirmware.length }, options)
}
