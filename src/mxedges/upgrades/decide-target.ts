import { NOT_APPLIED, OFFLINE, REMOVED, REPLACED } from '../../rollout/rollout.ts'
import {
  type Present,
  advance,
  advanceDownload,
  change,
  decideRefused,
  decideUnsent,
  end,
  isClosed,
  isStopped,
  restingState,
  retry,
  stepAt,
  stepOf,
  stop,
} from './decide-attempt.ts'
import { findNextStep, isBroken, isReached } from './decide-step.ts'
import { installMs } from './decide-window.ts'
import type { MxedgeTargetNow, TargetDecision, TargetRules } from './target.ts'

/** Decides the next change of a target that has not ended. */
export function decideTarget(target: MxedgeTargetNow, rules: TargetRules): TargetDecision {
  const { appliance } = target
  if (appliance === null) return end(target, 'cancelled', REMOVED)
  if (appliance.isReplaced) return end(target, 'cancelled', REPLACED)
  const present = { ...target, appliance }
  switch (target.state) {
    case 'planned':
    case 'deferred':
    case 'downloaded':
      return decideWaiting(present, rules)
    case 'downloading':
      return decideDownloading(present, rules)
    case 'commanded':
      return decideCommanded(present, rules)
    case 'unconfirmed':
      return decideUnconfirmed(present, rules)
    case 'verifying':
      return decideVerifying(present, rules)
    case 'upgraded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return { kind: 'wait' }
  }
}

function decideWaiting(target: Present, rules: TargetRules): TargetDecision {
  const { appliance, state, retryAtMs } = target
  const { nowMs, offlineDeadlineMs } = rules
  if (isStopped(target, rules)) return stop(target)
  if (rules.held || !rules.isPhaseOpen || isClosed(rules))
    // It is not offline any more, which its state would say until the pause or the closed window ends.
    return state === 'deferred' && appliance.link === 'connected'
      ? change(target, { state: restingState(target) })
      : { kind: 'wait' }
  if (appliance.link === 'absent') {
    if (state !== 'deferred')
      return awaitsWindow(target, rules) ? { kind: 'wait' } : change(target, { state: 'deferred' })
    const isOver = offlineDeadlineMs !== null && nowMs >= offlineDeadlineMs
    return isOver ? end(target, 'failed', OFFLINE) : { kind: 'wait' }
  }
  if (appliance.link === 'expected') return { kind: 'wait' }
  if (retryAtMs !== null && nowMs < retryAtMs) return { kind: 'wait' }
  return advance(target, rules, target.step)
}

/**
 * True if the open window is too short for the remaining steps, and a later one is not. The appliance could not begin before, so its
 * absence matters only then, when a connected one may take its place.
 */
function awaitsWindow({ steps, step }: Present, rules: TargetRules): boolean {
  const atMs = rules.beginMs(installMs(steps.slice(step), rules.options))
  return atMs !== null && atMs > rules.nowMs
}

/** Until an appliance installs, nothing on it has changed: an upgrade that stops does not wait for the download. */
function decideDownloading(target: Present, rules: TargetRules): TargetDecision {
  const { command, appliance } = target
  switch (command?.state) {
    case 'queued':
      return decideQueued(target, rules, command.id)
    case 'sent':
      return isStopped(target, rules) ? stop(target) : { kind: 'wait' }
    case 'expired':
    case 'cancelled':
      return decideUnsent(target, rules)
    case 'done':
      return advanceDownload(target, rules)
    case 'rejected':
      return decideRefused(target, rules)
    case 'unknown':
    case undefined: {
      if (isStopped(target, rules)) return stop(target)
      const { download, distroDownload } = rules.options.answerMs
      const answerMs = 'distro' in stepAt(target, target.staged) ? distroDownload : download
      const isAnswerDue = rules.nowMs >= settledMs(target) + answerMs
      const isAwaited = appliance.link === 'connected' && !isAnswerDue && command?.isForgotten !== true
      if (appliance.link === 'expected' || isAwaited) return { kind: 'wait' }
      return retryLost(target, rules)
    }
  }
}

/** Withdraws a command that may not be sent any more, or that could not be sent in time. */
function decideQueued(target: Present, rules: TargetRules, commandId: string): TargetDecision {
  const isLate = rules.nowMs >= target.enteredMs + rules.options.commandExpiryMs
  const isHindered = rules.held || isTooLate(target, rules)
  const isDue = isStopped(target, rules) || isHindered || target.appliance.link === 'absent' || isLate
  return isDue ? { kind: 'withdraw', commandId } : { kind: 'wait' }
}

/** A command that was queued in a maintenance window, and could no longer end in it. */
function isTooLate(target: Present, rules: TargetRules): boolean {
  // An upgrade that has begun is completed, so the later steps are not bound to a window.
  if (target.step > 0 && target.state !== 'downloading') return false
  const needMs = target.state === 'downloading' ? 0 : installMs(target.steps, rules.options)
  const atMs = rules.beginMs(needMs)
  return atMs === null || atMs > rules.nowMs
}

function decideCommanded(target: Present, rules: TargetRules): TargetDecision {
  const { command } = target
  switch (command?.state) {
    case 'queued':
      return decideQueued(target, rules, command.id)
    case 'sent':
      return { kind: 'wait' }
    case 'expired':
    case 'cancelled':
      return decideUnsent(target, rules)
    case 'done':
      return change(target, { state: 'verifying' })
    case 'rejected':
      return decideRefused(target, rules)
    case 'unknown':
    case undefined:
      return change(target, { state: 'unconfirmed' })
  }
}

/**
 * The command may have run: the appliance's report decides, and the answer that it repeats after it has reconnected.
 */
function decideUnconfirmed(target: Present, rules: TargetRules): TargetDecision {
  const { command, appliance } = target
  if (command?.state === 'done') return change(target, { state: 'verifying' })
  if (command?.state === 'rejected') return decideRefused(target, rules)
  if (appliance.link !== 'connected') return awaitReturn(target, rules)
  if (isReached(appliance, stepOf(target))) return change(target, { state: 'verifying' })
  if (command?.isForgotten === true) return retryLost(target, rules)
  const answerMs = rules.options.answerMs['distro' in stepOf(target) ? 'distro' : 'service']
  const untilMs = Math.min(settledMs(target) + answerMs, returnedByMs(target, rules) + answerMs)
  if (rules.nowMs < untilMs) return { kind: 'wait' }
  return retryLost(target, rules)
}

/**
 * A command that the gateway lost, and that the appliance does not know when it is back, is repeated at once. As with devices, an
 * appliance that was connected and did not answer is at fault.
 */
function retryLost(target: Present, rules: TargetRules): TargetDecision {
  const { command } = target
  const isOurs = command?.isForgotten === true && command.isGatewayLost
  return retry(target, rules, { reason: 'unresponsive', isLost: command?.isTimedOut !== true, isOurs })
}

/** The last step has to last for a while, the others have only to be reported. */
function decideVerifying(target: Present, rules: TargetRules): TargetDecision {
  const { appliance, steps, step } = target
  const { nowMs, options } = rules
  if (appliance.link !== 'connected') return awaitReturn(target, rules)
  const soakedMs = settledMs(target) + options.soakMs
  // The first limit restarts with each connection, the second one ends the wait for an unstable appliance.
  const lastMs = Math.min(soakedMs, returnedByMs(target, rules) + options.soakMs) + options.verifyTimeoutMs
  const present = stepOf(target)
  const isSound = isReached(appliance, present) && !isBroken(appliance, present)
  const next = findNextStep(appliance, steps, step + 1)
  if (isSound && next.step !== null) return advance(target, rules, step + 1)
  if (isSound && nowMs >= soakedMs) return end(target, 'upgraded', null)
  if (nowMs < lastMs) return { kind: 'wait' }
  if (isSound) return end(target, 'failed', 'unstable')
  return end(target, 'failed', isReached(appliance, present) ? 'service_failed' : NOT_APPLIED)
}

function awaitReturn(target: Present, rules: TargetRules): TargetDecision {
  return rules.nowMs < returnedByMs(target, rules) ? { kind: 'wait' } : end(target, 'failed', 'no_reconnect')
}

/** Returns the time by which a commanded appliance has to be back. */
function returnedByMs(target: Present, { graceUntilMs, options: { reconnectMs } }: TargetRules): number {
  const limitMs = 'distro' in stepOf(target) ? reconnectMs.distro : reconnectMs.service
  return Math.max(target.enteredMs + limitMs, graceUntilMs)
}

/** Since when the appliance is both connected and in its present state. */
function settledMs({ enteredMs, appliance }: Present): number {
  return Math.max(enteredMs, appliance.connectedMs ?? enteredMs)
}
