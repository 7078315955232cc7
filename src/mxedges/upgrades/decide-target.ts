import { OFFLINE } from '../../rollout/rollout.ts'
import { findNextStep, isBroken, isReached } from './decide-step.ts'
import type { ApplianceNow, MxedgeTargetNow, TargetChange, TargetDecision, TargetRules } from './target.ts'
import type { MxedgeStep } from './upgrade.ts'

/** Doublings of the pause between attempts; from then on it stays the same. */
const MAX_DOUBLINGS = 5
/** An appliance whose connection breaks this often during one step can't complete it. */
const MAX_LOST_ATTEMPTS = 30

/** A target whose appliance exists and is still the same. */
interface Present extends MxedgeTargetNow {
  readonly appliance: ApplianceNow
}

/** Decides the next change of a target that has not ended. */
export function decideTarget(target: MxedgeTargetNow, rules: TargetRules): TargetDecision {
  const { appliance } = target
  if (appliance === null) return end(target, 'cancelled', 'removed')
  if (appliance.isReplaced) return end(target, 'cancelled', 'replaced')
  const present = { ...target, appliance }
  switch (target.state) {
    case 'planned':
    case 'deferred':
      return decideWaiting(present, rules)
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
  if (rules.held || !rules.isOpen) return { kind: 'wait' }
  if (appliance.link === 'absent') {
    if (state === 'planned') return change(target, { state: 'deferred' })
    const isOver = offlineDeadlineMs !== null && nowMs >= offlineDeadlineMs
    return isOver ? end(target, 'failed', OFFLINE) : { kind: 'wait' }
  }
  if (appliance.link === 'expected') return { kind: 'wait' }
  if (retryAtMs !== null && nowMs < retryAtMs) return { kind: 'wait' }
  return rules.isClusterFree ? advance(target, rules, target.step) : { kind: 'wait' }
}

function decideCommanded(target: Present, rules: TargetRules): TargetDecision {
  const { command, appliance, enteredMs } = target
  const expiryMs = enteredMs + rules.options.commandExpiryMs
  switch (command?.state) {
    case 'queued': {
      const isDue = isStopped(target, rules) || rules.held || appliance.link === 'absent' || rules.nowMs >= expiryMs
      return isDue ? { kind: 'withdraw', commandId: command.id } : { kind: 'wait' }
    }
    case 'sent':
      return { kind: 'wait' }
    // It was certainly not sent. An absent appliance costs no attempt.
    case 'expired':
    case 'cancelled':
      return appliance.link === 'absent' || rules.held || isStopped(target, rules)
        ? suspend(target, rules)
        : retry(target, rules, { reason: 'unresponsive', isLost: true })
    case 'done':
    case 'rejected':
      return decideAnswered(target, rules)
    case 'unknown':
    case undefined:
      return change(target, { state: 'unconfirmed' })
  }
}

function decideAnswered(target: Present, rules: TargetRules): TargetDecision {
  const { command } = target
  if (command?.state === 'done') return change(target, { state: 'verifying' })
  const reason = command?.refusal ?? 'rejected'
  if (command?.refusalIsFinal === true) return end(target, 'failed', reason)
  return retry(target, rules, { reason, isLost: false })
}

/** The command may have run: what the appliance reports decides, and the answer that it repeats after it is back. */
function decideUnconfirmed(target: Present, rules: TargetRules): TargetDecision {
  const { command, appliance } = target
  if (command?.state === 'done' || command?.state === 'rejected') return decideAnswered(target, rules)
  if (appliance.link !== 'connected') return awaitReturn(target, rules)
  if (isReached(appliance, stepOf(target))) return change(target, { state: 'verifying' })
  if (command?.isForgotten === true) return retry(target, rules, { reason: 'unresponsive', isLost: true })
  const answerMs = rules.options.answerMs['distro' in stepOf(target) ? 'distro' : 'service']
  const untilMs = Math.min(settledMs(target) + answerMs, returnedByMs(target, rules) + answerMs)
  if (rules.nowMs < untilMs) return { kind: 'wait' }
  return retry(target, rules, { reason: 'unresponsive', isLost: true })
}

/** The last step has to last for a while, the others have only to be reported. */
function decideVerifying(target: Present, rules: TargetRules): TargetDecision {
  const { appliance, steps, step } = target
  const { nowMs, options } = rules
  if (appliance.link !== 'connected') return awaitReturn(target, rules)
  const soakedMs = settledMs(target) + options.soakMs
  // The first bound starts anew with each connection, the second one ends the wait for an unstable appliance.
  const lastMs = Math.min(soakedMs, returnedByMs(target, rules) + options.soakMs) + options.verifyTimeoutMs
  const present = stepOf(target)
  const isSound = isReached(appliance, present) && !isBroken(appliance, present)
  const next = findNextStep(appliance, steps, step + 1)
  if (isSound && next.step !== null) return advance(target, rules, step + 1)
  if (isSound && nowMs >= soakedMs) return end(target, 'upgraded', null)
  if (nowMs < lastMs) return { kind: 'wait' }
  if (isSound) return end(target, 'failed', 'unstable')
  return end(target, 'failed', isReached(appliance, present) ? 'service_failed' : 'not_applied')
}

/** Commands the step that the appliance needs next, if any, as soon as it may. */
function advance(target: Present, rules: TargetRules, from: number): TargetDecision {
  const { appliance, steps, attempt } = target
  const next = findNextStep(appliance, steps, from)
  const isNew = from !== target.step || next.step !== target.step
  const counts = isNew ? { failedAttempts: 0, lostAttempts: 0 } : {}
  if (next.step === null)
    return attempt > 0 ? end(target, 'upgraded', null) : end(target, 'skipped', 'already on the requested versions')
  const moved = { ...target, ...counts, step: next.step, steps: next.steps }
  if (isStopped(target, rules)) return stop(moved)
  if (rules.held) return change(moved, { state: 'planned' })
  return change(moved, { state: 'commanded', order: next.steps[next.step] ?? null })
}

function awaitReturn(target: Present, rules: TargetRules): TargetDecision {
  return rules.nowMs < returnedByMs(target, rules) ? { kind: 'wait' } : end(target, 'failed', 'no_reconnect')
}

/** Until when an appliance that was commanded has to be back. */
function returnedByMs(target: Present, { graceUntilMs, options: { reconnectMs } }: TargetRules): number {
  const limitMs = 'distro' in stepOf(target) ? reconnectMs.distro : reconnectMs.service
  return Math.max(target.enteredMs + limitMs, graceUntilMs)
}

/** Since when the appliance is both connected and in its present state. */
function settledMs({ enteredMs, appliance }: Present): number {
  return Math.max(enteredMs, appliance.connectedMs ?? enteredMs)
}

interface Ended {
  readonly reason: string
  /** True if nobody knows how the attempt ended, or it was not sent: it costs the appliance nothing. */
  readonly isLost: boolean
}

/** Plans the step again after a pause, unless it was the last attempt. */
function retry(target: Present, rules: TargetRules, { reason, isLost }: Ended): TargetDecision {
  const { nowMs, options } = rules
  const failedAttempts = target.failedAttempts + (isLost ? 0 : 1)
  const lostAttempts = target.lostAttempts + (isLost ? 1 : 0)
  const counted = { ...target, failedAttempts, lostAttempts }
  if (failedAttempts >= options.maxAttempts || lostAttempts >= MAX_LOST_ATTEMPTS) return end(counted, 'failed', reason)
  const doublings = Math.min(MAX_DOUBLINGS, (isLost ? lostAttempts : failedAttempts) - 1)
  const paused = { ...counted, retryAtMs: nowMs + options.retryMs * 2 ** doublings }
  return isStopped(target, rules) ? stop(counted) : change(paused, { state: waitingState(target), reason })
}

function suspend(target: Present, rules: TargetRules): TargetDecision {
  return isStopped(target, rules) ? stop(target) : change(target, { state: waitingState(target) })
}

/** Only an absent appliance stops counting for its phase. */
function waitingState({ appliance }: Present): 'planned' | 'deferred' {
  return appliance.link === 'absent' ? 'deferred' : 'planned'
}

/** True if no further command goes to the appliance. */
function isStopped({ appliance }: Present, { stopping }: Pick<TargetRules, 'stopping'>): boolean {
  return stopping || appliance.hasLeft
}

/** Cancels what is left to do. The steps that are done stay done. */
function stop(target: Present): TargetDecision {
  const { step, steps, appliance } = target
  if (step > 0) return end(target, 'cancelled', `after ${step} of ${steps.length} steps`)
  return end(target, 'cancelled', appliance.hasLeft ? 'left the site' : null)
}

function stepOf({ steps, step }: Pick<MxedgeTargetNow, 'steps' | 'step'>): MxedgeStep {
  const present = steps[step]
  if (present === undefined) throw new Error(`A target has no step ${step}`)
  return present
}

type Changed = Pick<MxedgeTargetNow, 'steps' | 'step' | 'failedAttempts' | 'lostAttempts' | 'retryAtMs'>

function end(target: Changed, state: TargetChange['state'], reason: string | null): TargetDecision {
  return change({ ...target, retryAtMs: null }, { state, reason })
}

function change(
  { steps, step, failedAttempts, lostAttempts, retryAtMs }: Changed,
  { state, reason = null, order = null }: Pick<TargetChange, 'state'> & Partial<TargetChange>,
): TargetDecision {
  const counted = { steps, step, failedAttempts, lostAttempts }
  return { kind: 'change', change: { state, reason, ...counted, retryAtMs: order === null ? retryAtMs : null, order } }
}
