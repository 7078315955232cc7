import { LEFT_SITE } from '../../rollout/rollout.ts'
import { WINDOW_TOO_SHORT } from '../../rollout/targets/steps/decide-window.ts'
import { findNextStep, skipReason } from './decide-step.ts'
import { installMs } from './decide-window.ts'
import type { ApplianceNow, MxedgeTargetNow, TargetChange, TargetDecision, TargetRules } from './target.ts'
import { type MxedgeStep, isInFlight } from './upgrade.ts'

/** Doublings of the pause between attempts; from then on it stays the same. */
const MAX_DOUBLINGS = 5
/** An appliance whose connection breaks this often during one step can't complete it. */
const MAX_LOST_ATTEMPTS = 30

/** A target whose appliance exists and is still the same. */
export interface Present extends MxedgeTargetNow {
  readonly appliance: ApplianceNow
}

/**
 * Commands the next action of the appliance from the step `from` on. It first downloads the packages of all steps,
 * which changes nothing; then it installs them one after the other.
 */
export function advance(target: Present, rules: TargetRules, from: number): TargetDecision {
  const { appliance, steps, attempt } = target
  const next = findNextStep(appliance, steps, from)
  const counts = next.step === target.step ? {} : noAttempts
  if (next.step === null)
    return attempt > 0 ? end(target, 'upgraded', null) : end(target, 'skipped', skipReason(appliance, steps))
  const moved = { ...target, ...counts, step: next.step, steps: next.steps }
  if (isStopped(target, rules)) return stop(moved)
  if (rules.held) return change(moved, { state: restingState(moved) })
  const missing = findMissing(moved)
  if (missing !== null) return commandDownload(moved, missing)
  if (isInFlight(target.state)) return change(moved, { state: 'commanded', order: stepAt(moved, moved.step) })
  const beginsMs = rules.beginMs(installMs(moved.steps.slice(moved.step), rules.options))
  if (beginsMs === null) return end(moved, 'failed', WINDOW_TOO_SHORT)
  if (rules.isOpen && rules.isClusterFree && beginsMs <= rules.nowMs)
    return change(moved, { state: 'commanded', order: stepAt(moved, moved.step) })
  return restingState(moved) === 'downloaded' && target.state !== 'downloaded'
    ? change(moved, { state: 'downloaded' })
    : { kind: 'wait' }
}

const noAttempts = { failedAttempts: 0, lostAttempts: 0 }

/** Finds the next step whose packages the appliance has yet to download; null: none. */
function findMissing({ appliance, steps, step, staged }: Present): number | null {
  const index = findNextStep(appliance, steps, Math.max(step, staged)).step
  return index !== null && canDownload(appliance, stepAt({ steps }, index)) ? index : null
}

/** True if the agent can download the files of the step before it changes anything. */
function canDownload({ canStage, canStageDistro }: ApplianceNow, step: MxedgeStep): boolean {
  return 'distro' in step ? canStageDistro : canStage
}

function commandDownload(target: Present, index: number): TargetDecision {
  return change({ ...target, staged: index }, { state: 'downloading', order: stepAt(target, index) })
}

/** Continues when the appliance has downloaded a package. */
export function advanceDownload(target: Present, rules: TargetRules): TargetDecision {
  const moved = { ...target, ...noAttempts, staged: target.staged + 1 }
  if (isStopped(target, rules)) return stop(target)
  const missing = findMissing(moved)
  if (missing !== null && !rules.held && !isClosed(rules)) return commandDownload(moved, missing)
  return change(moved, { state: restingState(moved) })
}

/** Repeats a command that was certainly not sent; an absent appliance costs no attempt. */
export function decideUnsent(target: Present, rules: TargetRules): TargetDecision {
  if (isStopped(target, rules)) return stop(target)
  if (target.appliance.link === 'absent' || rules.held) return change(target, { state: restingState(target) })
  return retry(target, rules, { reason: 'unresponsive', isLost: true })
}

/** Repeats a command that the appliance has refused, unless it would refuse it again. */
export function decideRefused(target: Present, rules: TargetRules): TargetDecision {
  const reason = target.command?.refusal ?? 'rejected'
  if (target.command?.refusalIsFinal === true) return end(target, 'failed', reason)
  // The service went down while the appliance downloaded from it.
  const isOurs = target.state === 'downloading' && target.command?.isGatewayLost === true
  return retry(target, rules, { reason, isLost: isOurs, isOurs })
}

interface Ended {
  readonly reason: string
  /** True if the result of the attempt is unknown, or it was not sent: it does not count against the appliance. */
  readonly isLost: boolean
  /** True repeats the step at once and does not count, because the gateway ended the attempt and the appliance idles. */
  readonly isOurs?: boolean
}

/** Plans the step again after a pause, unless it was the last attempt. */
export function retry(target: Present, rules: TargetRules, { reason, isLost, isOurs = false }: Ended): TargetDecision {
  const { nowMs, options } = rules
  const failedAttempts = target.failedAttempts + (isLost ? 0 : 1)
  const lostAttempts = target.lostAttempts + (isLost && !isOurs ? 1 : 0)
  // An agent deletes a package that it could not install.
  const staged = target.state === 'downloading' ? target.staged : target.step
  const counted = { ...target, staged, failedAttempts, lostAttempts }
  if (failedAttempts >= options.maxAttempts || lostAttempts >= MAX_LOST_ATTEMPTS) return end(counted, 'failed', reason)
  const doublings = Math.min(MAX_DOUBLINGS, (isLost ? lostAttempts : failedAttempts) - 1)
  const paused = { ...counted, retryAtMs: nowMs + (isOurs ? 0 : options.retryMs * 2 ** doublings) }
  return isStopped(target, rules) ? stop(counted) : change(paused, { state: restingState(paused), reason })
}

/** Only an absent appliance stops counting for its phase. */
export function restingState(target: Present): 'planned' | 'deferred' | 'downloaded' {
  const { appliance, step } = target
  if (appliance.link === 'absent') return 'deferred'
  const isStaged = canDownload(appliance, stepAt(target, step)) && findMissing(target) === null
  return isStaged ? 'downloaded' : 'planned'
}

/** True outside of the maintenance windows. */
export function isClosed({ beginMs, nowMs }: Pick<TargetRules, 'beginMs' | 'nowMs'>): boolean {
  return (beginMs(0) ?? nowMs) > nowMs
}

/** True if no further command goes to the appliance. */
export function isStopped({ appliance }: Present, { stopping }: Pick<TargetRules, 'stopping'>): boolean {
  return stopping || appliance.hasLeft
}

/** Cancels the remaining steps. The completed steps remain. */
export function stop(target: Present): TargetDecision {
  const { step, steps, appliance } = target
  if (step > 0) return end(target, 'cancelled', `after ${step} of ${steps.length} steps`)
  return end(target, 'cancelled', appliance.hasLeft ? LEFT_SITE : null)
}

export function stepOf(target: Pick<MxedgeTargetNow, 'steps' | 'step'>): MxedgeStep {
  return stepAt(target, target.step)
}

export function stepAt({ steps }: Pick<MxedgeTargetNow, 'steps'>, index: number): MxedgeStep {
  const step = steps[index]
  if (step === undefined) throw new Error(`A target has no step ${index}`)
  return step
}

type Changed = Pick<MxedgeTargetNow, 'steps' | 'step' | 'staged' | 'failedAttempts' | 'lostAttempts' | 'retryAtMs'>

export function end(target: Changed, state: TargetChange['state'], reason: string | null): TargetDecision {
  return change({ ...target, retryAtMs: null }, { state, reason })
}

export function change(
  { steps, step, staged, failedAttempts, lostAttempts, retryAtMs }: Changed,
  { state, reason = null, order = null }: Pick<TargetChange, 'state'> & Partial<TargetChange>,
): TargetDecision {
  const counted = { steps, step, staged, failedAttempts, lostAttempts }
  return { kind: 'change', change: { state, reason, ...counted, retryAtMs: order === null ? retryAtMs : null, order } }
}
