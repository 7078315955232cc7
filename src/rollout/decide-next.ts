import { epochS } from '../platform/clock.ts'
import { findHoldReason } from './decide-hold.ts'
import { type CountsByPhase, type FailuresByPhase, findStopReason } from './decide-stop.ts'
import { decideTarget } from './decide-target.ts'
import { graceOf } from './limit-grace.ts'
import {
  OFFLINE,
  type RolloutOptions,
  type TargetCounts,
  type TargetState,
  type UpgradeHold,
  type UpgradePlan,
  type UpgradeStatus,
  isInFlight,
  openCount,
} from './rollout.ts'
import type { TargetDecision, TargetNow, TargetRules } from './target.ts'

/** A site upgrade and those of its targets that something may have to be done about. */
export interface JobNow {
  readonly status: UpgradeStatus
  readonly stopping: 'failed' | 'cancelled' | null
  readonly stopReason: string | null
  readonly hold: UpgradeHold | null
  /** The gate after this phase is not asked again; 0 = none. */
  readonly gatePassed: number
  readonly startAt: Date
  readonly rebootAt: Date
  readonly plan: UpgradePlan
  readonly currentPhase: number
  /** Service time. */
  readonly phaseOpenedMs: number | null
  /** Beside Now.graceUntilMs, for this site. */
  readonly graceUntilMs: number | null
  readonly counts: TargetCounts
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  /**
   * The targets of the phases opened so far (of all phases when stopping), less those that have
   * ended and those about which there is certainly nothing to do yet.
   */
  readonly targets: readonly TargetNow[]
}

/** What becomes of a target. `commanded`: a new command goes out with it. */
export interface Step {
  readonly target: TargetNow
  readonly to: TargetState
  readonly reason: string | null
  readonly failedAttempts: number
  readonly lostAttempts: number
  readonly retryAtMs: number | null
  readonly commanded: boolean
}

/** The members of JobNow that change, and when to look again at the latest (null: never). */
export interface JobChange extends Pick<
  JobNow,
  | 'status'
  | 'stopping'
  | 'stopReason'
  | 'hold'
  | 'currentPhase'
  | 'phaseOpenedMs'
  | 'counts'
  | 'hardFailures'
  | 'upgradedByPhase'
> {
  readonly finishedAt: Date | null
  readonly dueMs: number | null
}

export interface JobDecision {
  readonly steps: readonly Step[]
  readonly takeBack: readonly string[]
  readonly fences: readonly { readonly commandId: string; readonly imageId: string }[]
  readonly job: JobChange
}

export interface Now {
  /** On the wall clock: for starts that people have set, and for the record. */
  readonly now: Date
  /** Service time: for everything that must not end while nobody listens. */
  readonly nowMs: number
  /** See TargetRules. */
  readonly graceUntilMs: number
  readonly options: RolloutOptions
}

/** Devices in flight change without telling the engine; absent ones take their time. */
export const IN_FLIGHT_POLL_MS = 1000
export const DEFERRED_POLL_MS = 5000

/**
 * One round of a site upgrade: what each target does next, whether a limit trips, whether the next
 * phase opens, whether it is over. Pure; everything in the answer is to be committed together.
 */
export function decideNext(job: JobNow, at: Now): JobDecision {
  const waitMs = commandInstant(job).getTime() - at.now.getTime()
  // One that has begun goes on, also when the clock is set back behind its start.
  if (job.stopping === null && job.phaseOpenedMs === null && waitMs > 0)
    return { ...nothing, job: change(job, { status: 'queued', dueMs: at.nowMs + waitMs }) }
  const free = decideTargets(job, {
    ...at,
    stopping: job.stopping !== null,
    held: job.hold !== null,
    offlineDeadlineMs: deadlineMs(job, at.options),
  })
  const tripped = job.stopping === null ? findStopReason(free.hardFailures, job.plan) : null
  return tripped === null ? advance(job, free, at) : stopWith(job, tripped, at)
}

/** The same round, but ended by a limit that a sibling's failures exceeded. */
export function decideStop(job: JobNow, reason: string, at: Now): JobDecision {
  return job.stopping === null ? stopWith(job, reason, at) : decideNext(job, at)
}

/** Download and reboot are one step for these devices: both instants must have come. */
function commandInstant({ startAt, rebootAt }: JobNow): Date {
  return startAt > rebootAt ? startAt : rebootAt
}

function stopWith(job: JobNow, reason: string, at: Now): JobDecision {
  const stopped = { ...job, stopping: 'failed' as const, stopReason: reason, hold: null }
  return advance(stopped, decideTargets(stopped, { ...at, stopping: true, held: false, offlineDeadlineMs: null }), at)
}

interface Round extends Omit<JobDecision, 'job'> {
  readonly counts: TargetCounts
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  readonly untilMs: readonly number[]
  /** A target of an open phase can't be commanded yet, and its device is on its way back. */
  readonly awaitsDevices: boolean
}

function decideTargets(job: JobNow, at: TargetRules): Round {
  const decided = job.targets.map((target) => {
    const graces = { startMs: at.graceUntilMs, siteMs: job.graceUntilMs }
    const rules = { ...at, graceUntilMs: graceOf(target, graces, at.options) }
    return { target, decision: decideTarget(target, rules) }
  })
  const steps = decided.flatMap(({ target, decision }) => stepOf(target, decision) ?? [])
  return {
    steps,
    takeBack: decided.flatMap(({ decision }) => (decision.kind === 'take_back' ? [decision.commandId] : [])),
    fences: decided.flatMap(({ decision: { kind, ...key } }) => (kind === 'fence' && 'imageId' in key ? [key] : [])),
    counts: countSteps(job.counts, steps),
    hardFailures: countByPhase(job.hardFailures, steps.filter(isHardFailure)),
    upgradedByPhase: countByPhase(job.upgradedByPhase, steps.filter(isUpgraded)),
    untilMs: [
      ...decided.flatMap(({ decision }) => (decision.kind === 'wait' ? (decision.untilMs ?? []) : [])),
      ...steps.flatMap(({ retryAtMs }) => retryAtMs ?? []),
    ],
    awaitsDevices: decided.some(({ target, decision }) => target.state === 'planned' && decision.kind === 'wait'),
  }
}

function stepOf(target: TargetNow, decision: TargetDecision): Step | null {
  switch (decision.kind) {
    case 'command': {
      const { failedAttempts, lostAttempts } = decision
      const step = { target, to: 'dl_requested', reason: null, retryAtMs: null, commanded: true } as const
      return { ...step, failedAttempts, lostAttempts }
    }
    case 'pause': {
      const { reason, failedAttempts, lostAttempts, retryAtMs } = decision
      return { target, to: target.state, reason, failedAttempts, lostAttempts, retryAtMs, commanded: false }
    }
    case 'move': {
      const { to, reason = null, retryAtMs = null } = decision
      const { failedAttempts = target.failedAttempts, lostAttempts = target.lostAttempts } = decision
      if (to === target.state) return null
      return { target, to, reason, failedAttempts, lostAttempts, retryAtMs, commanded: false }
    }
    case 'wait':
    case 'take_back':
    case 'fence':
      return null
  }
}

function countSteps(counts: TargetCounts, steps: readonly Step[]): TargetCounts {
  const changed = { ...counts }
  for (const { target, to } of steps) {
    changed[target.state] -= 1
    changed[to] += 1
  }
  return changed
}

export function isHardFailure({ to, reason }: Pick<Step, 'to' | 'reason'>): boolean {
  return to === 'failed' && reason !== OFFLINE
}

export function isUpgraded({ to }: Pick<Step, 'to'>): boolean {
  return to === 'upgraded'
}

/** The counts with one more for the phase of each step. */
export function countByPhase(counts: CountsByPhase, steps: readonly Step[]): CountsByPhase {
  const changed: Record<string, number> = { ...counts }
  for (const { target } of steps) changed[target.phase] = (changed[target.phase] ?? 0) + 1
  return changed
}

/** Opens the next phase, ends the upgrade, or says when to look again. */
function advance(job: JobNow, round: Round, { now, nowMs, options }: Now): JobDecision {
  const { steps, takeBack, fences, counts, hardFailures, upgradedByPhase } = round
  const openedMs = job.phaseOpenedMs ?? (job.hold === null ? nowMs : null)
  const results = { counts, hardFailures, upgradedByPhase }
  const base = { ...results, phaseOpenedMs: openedMs, status: statusOf(job.status, counts) }
  const decide = (more: Partial<JobChange>): JobDecision => ({
    steps,
    takeBack,
    fences,
    job: change(job, { ...base, ...more }),
  })
  if (openCount(counts) === 0)
    return decide({ status: job.stopping ?? 'completed', hold: null, finishedAt: now, dueMs: null })
  if (takeBack.length > 0 || fences.length > 0) return decide({ dueMs: nowMs })
  // The targets of phases that were not read are read and cancelled in the next round.
  if (job.stopping !== null)
    return decide({ dueMs: steps.length === 0 || inFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : nowMs })
  if (job.hold !== null) return decide({ dueMs: inFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : null })
  // A round leaves no target of an open phase planned, unless its device is on its way back. Absent ones don't block.
  if (!inFlight(counts) && !round.awaitsDevices && job.currentPhase < job.plan.phases) {
    if (job.plan.phase_scope === 'site') return decide(passGate(job, round, { now, nowMs }))
    // The organization's upgrade wakes this one when it opens the next phase.
    if (counts.deferred === 0) return decide({ dueMs: null })
  }
  const pollMs = nowMs + (inFlight(counts) || round.awaitsDevices ? IN_FLIGHT_POLL_MS : DEFERRED_POLL_MS)
  const endMs = deadlineMs({ ...job, phaseOpenedMs: openedMs }, options)
  return decide({ dueMs: Math.min(pollMs, ...round.untilMs, ...(endMs !== null && endMs > nowMs ? [endMs] : [])) })
}

/** Opens the next phase of a site upgrade that has phases of its own, or holds it. */
function passGate(
  job: JobNow,
  { hardFailures: failures, upgradedByPhase: upgraded }: Round,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): Partial<JobChange> {
  const { currentPhase, gatePassed, plan } = job
  const reason = gatePassed >= currentPhase ? null : findHoldReason(currentPhase, { failures, upgraded }, plan)
  if (reason !== null) return { hold: { by: 'gate', reason, since_s: epochS(now), since_ms: nowMs }, dueMs: null }
  return { currentPhase: currentPhase + 1, phaseOpenedMs: nowMs, dueMs: nowMs }
}

function inFlight(counts: TargetCounts): boolean {
  return Object.entries(counts).some(([state, count]) => count > 0 && isInFlight(state as TargetState))
}

/** It never goes back: a job that has rebooted devices stays `upgrading`. */
function statusOf(status: UpgradeStatus, counts: TargetCounts): UpgradeStatus {
  if (status === 'upgrading' || counts.rebooting + counts.verifying + counts.upgraded > 0) return 'upgrading'
  return counts.dl_requested + counts.downloading > 0 ? 'downloading' : status
}

/** The time of grace for absent devices begins when the last phase opens. */
function deadlineMs(
  job: Pick<JobNow, 'currentPhase' | 'phaseOpenedMs' | 'plan'>,
  options: RolloutOptions,
): number | null {
  if (job.currentPhase < job.plan.phases || job.phaseOpenedMs === null) return null
  return job.phaseOpenedMs + options.offlineDeadlineMs
}

const nothing = { steps: [], takeBack: [], fences: [] } satisfies Omit<JobDecision, 'job'>

function change(job: JobNow, changed: Partial<JobChange>): JobChange {
  const { status, stopping, stopReason, hold, currentPhase, phaseOpenedMs, counts, hardFailures, upgradedByPhase } = job
  return {
    status,
    stopping,
    stopReason,
    hold,
    currentPhase,
    phaseOpenedMs,
    counts,
    hardFailures,
    upgradedByPhase,
    finishedAt: null,
    dueMs: null,
    ...changed,
  }
}
