import { findHoldReason } from './decide-hold.ts'
import { type FailuresByPhase, findStopReason } from './decide-stop.ts'
import { type TargetDecision, type TargetNow, type TargetRules, decideTarget } from './decide-target.ts'
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
  readonly phaseOpenedAt: Date | null
  readonly counts: TargetCounts
  readonly hardFailures: FailuresByPhase
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
  readonly commanded: boolean
}

/** The members of JobNow that change, and when to look again at the latest (null: never). */
export interface JobChange extends Pick<
  JobNow,
  'status' | 'stopping' | 'stopReason' | 'hold' | 'currentPhase' | 'phaseOpenedAt' | 'counts' | 'hardFailures'
> {
  readonly finishedAt: Date | null
  readonly dueAt: Date | null
}

export interface JobDecision {
  readonly steps: readonly Step[]
  readonly takeBack: readonly string[]
  readonly fences: readonly { readonly commandId: string; readonly imageId: string }[]
  readonly job: JobChange
}

export interface Now {
  readonly now: Date
  readonly options: RolloutOptions
}

/** Devices in flight change without telling the engine; absent ones take their time. */
export const IN_FLIGHT_POLL_MS = 1000
export const DEFERRED_POLL_MS = 5000

/**
 * One round of a site upgrade: what each target does next, whether a limit trips, whether the next
 * phase opens, whether it is over. Pure; everything in the answer is to be committed together.
 */
export function decideNext(job: JobNow, { now, options }: Now): JobDecision {
  const notBefore = commandInstant(job)
  if (job.stopping === null && now < notBefore)
    return { ...nothing, job: change(job, { status: 'queued', dueAt: notBefore }) }
  const free = decideTargets(job, {
    now,
    options,
    stopping: job.stopping !== null,
    held: job.hold !== null,
    offlineDeadline: deadline(job, options),
  })
  const tripped = job.stopping === null ? findStopReason(free.hardFailures, job.plan) : null
  if (tripped === null) return advance(job, free, { now, options })
  return stopWith(job, 'failed', { reason: tripped, now, options })
}

/** The same round, but ended by a limit that a sibling's failures exceeded. */
export function decideStop(job: JobNow, reason: string, { now, options }: Now): JobDecision {
  if (job.stopping !== null) return decideNext(job, { now, options })
  return stopWith(job, 'failed', { reason, now, options })
}

/** Download and reboot are one step for these devices: both instants must have come. */
function commandInstant({ startAt, rebootAt }: JobNow): Date {
  return startAt > rebootAt ? startAt : rebootAt
}

function stopWith(
  job: JobNow,
  stopping: 'failed',
  { reason, now, options }: Now & { readonly reason: string },
): JobDecision {
  const stopped = { ...job, stopping, stopReason: reason, hold: null }
  const round = decideTargets(stopped, { now, options, stopping: true, held: false, offlineDeadline: null })
  return advance(stopped, round, { now, options })
}

interface Round extends Omit<JobDecision, 'job'> {
  readonly counts: TargetCounts
  readonly hardFailures: FailuresByPhase
  readonly until: readonly Date[]
}

function decideTargets(job: JobNow, rules: TargetRules): Round {
  const decided = job.targets.map((target) => ({ target, decision: decideTarget(target, rules) }))
  const steps = decided.flatMap(({ target, decision }) => stepOf(target, decision) ?? [])
  return {
    steps,
    takeBack: decided.flatMap(({ decision }) => (decision.kind === 'take_back' ? [decision.commandId] : [])),
    fences: decided.flatMap(({ decision: { kind, ...key } }) => (kind === 'fence' && 'imageId' in key ? [key] : [])),
    counts: countSteps(job.counts, steps),
    hardFailures: addFailures(job.hardFailures, steps),
    until: decided.flatMap(({ decision }) => (decision.kind === 'wait' && decision.until ? [decision.until] : [])),
  }
}

function stepOf(target: TargetNow, decision: TargetDecision): Step | null {
  switch (decision.kind) {
    case 'command':
      return { target, to: 'dl_requested', reason: null, failedAttempts: decision.failedAttempts, commanded: true }
    case 'move': {
      const { to, reason = null, failedAttempts = target.failedAttempts } = decision
      return to === target.state ? null : { target, to, reason, failedAttempts, commanded: false }
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

function addFailures(failures: FailuresByPhase, steps: readonly Step[]): FailuresByPhase {
  const changed: Record<string, number> = { ...failures }
  for (const step of steps) {
    if (isHardFailure(step)) changed[step.target.phase] = (changed[step.target.phase] ?? 0) + 1
  }
  return changed
}

/** Opens the next phase, ends the upgrade, or says when to look again. */
function advance(job: JobNow, round: Round, { now, options }: Now): JobDecision {
  const { steps, takeBack, fences, counts, hardFailures } = round
  const opened = job.phaseOpenedAt ?? (job.hold === null ? now : null)
  const base = { counts, hardFailures, phaseOpenedAt: opened, status: statusOf(job.status, counts) }
  const decide = (more: Partial<JobChange>): JobDecision => ({
    steps,
    takeBack,
    fences,
    job: change(job, { ...base, ...more }),
  })
  if (openCount(counts) === 0)
    return decide({ status: job.stopping ?? 'completed', hold: null, finishedAt: now, dueAt: null })
  if (takeBack.length > 0 || fences.length > 0) return decide({ dueAt: now })
  // What a stop leaves waiting in phases that were not read is read, and cancelled, in the next round.
  if (job.stopping !== null)
    return decide({ dueAt: steps.length === 0 || inFlight(counts) ? laterBy(now, IN_FLIGHT_POLL_MS) : now })
  if (job.hold !== null) return decide({ dueAt: inFlight(counts) ? laterBy(now, IN_FLIGHT_POLL_MS) : null })
  // None of the open phases' targets is planned any more: a round leaves none so. Absent ones don't block.
  if (!inFlight(counts) && job.currentPhase < job.plan.phases) return decide(passGate(job, hardFailures, now))
  const poll = laterBy(now, inFlight(counts) ? IN_FLIGHT_POLL_MS : DEFERRED_POLL_MS)
  const end = deadline({ ...job, phaseOpenedAt: opened }, options)
  return decide({ dueAt: earliest([poll, ...round.until, ...(end !== null && end > now ? [end] : [])]) })
}

/** Opens the next phase, or holds the upgrade. */
function passGate(job: JobNow, failures: FailuresByPhase, now: Date): Partial<JobChange> {
  const { currentPhase, gatePassed, plan } = job
  const reason = gatePassed >= currentPhase ? null : findHoldReason(currentPhase, failures, plan)
  if (reason !== null) return { hold: { by: 'gate', reason, since_s: now.getTime() / 1000 }, dueAt: null }
  return { currentPhase: currentPhase + 1, phaseOpenedAt: now, dueAt: now }
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
function deadline(job: Pick<JobNow, 'currentPhase' | 'phaseOpenedAt' | 'plan'>, options: RolloutOptions): Date | null {
  if (job.currentPhase < job.plan.phases || job.phaseOpenedAt === null) return null
  return laterBy(job.phaseOpenedAt, options.offlineDeadlineMs)
}

const nothing = { steps: [], takeBack: [], fences: [] } satisfies Omit<JobDecision, 'job'>

function change(job: JobNow, changed: Partial<JobChange>): JobChange {
  const { status, stopping, stopReason, hold, currentPhase, phaseOpenedAt, counts, hardFailures } = job
  return {
    status,
    stopping,
    stopReason,
    hold,
    currentPhase,
    phaseOpenedAt,
    counts,
    hardFailures,
    finishedAt: null,
    dueAt: null,
    ...changed,
  }
}

function laterBy(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}

function earliest(dates: readonly Date[]): Date {
  return new Date(Math.min(...dates.map((date) => date.getTime())))
}
