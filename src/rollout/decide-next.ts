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
export interface SiteUpgradeNow {
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

/** The members of SiteUpgradeNow that change, and when to look again at the latest (null: never). */
export interface SiteUpgradeChange extends Pick<
  SiteUpgradeNow,
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

export interface SiteUpgradeDecision {
  readonly steps: readonly Step[]
  readonly withdrawn: readonly string[]
  readonly fences: readonly { readonly commandId: string; readonly imageId: string }[]
  readonly siteUpgrade: SiteUpgradeChange
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
export function decideNext(siteUpgrade: SiteUpgradeNow, at: Now): SiteUpgradeDecision {
  const waitMs = commandInstant(siteUpgrade).getTime() - at.now.getTime()
  // One that has begun goes on, also when the clock is set back behind its start.
  if (siteUpgrade.stopping === null && siteUpgrade.phaseOpenedMs === null && waitMs > 0)
    return { ...nothing, siteUpgrade: change(siteUpgrade, { status: 'queued', dueMs: at.nowMs + waitMs }) }
  const free = decideTargets(siteUpgrade, {
    ...at,
    stopping: siteUpgrade.stopping !== null,
    held: siteUpgrade.hold !== null,
    offlineDeadlineMs: deadlineMs(siteUpgrade, at.options),
  })
  const tripped = siteUpgrade.stopping === null ? findStopReason(free.hardFailures, siteUpgrade.plan) : null
  return tripped === null ? advance(siteUpgrade, free, at) : stopWith(siteUpgrade, tripped, at)
}

/** The same round, but ended by a limit that a sibling's failures exceeded. */
export function decideStop(siteUpgrade: SiteUpgradeNow, reason: string, at: Now): SiteUpgradeDecision {
  return siteUpgrade.stopping === null ? stopWith(siteUpgrade, reason, at) : decideNext(siteUpgrade, at)
}

/** Download and reboot are one step for these devices: both instants must have come. */
function commandInstant({ startAt, rebootAt }: SiteUpgradeNow): Date {
  return startAt > rebootAt ? startAt : rebootAt
}

function stopWith(siteUpgrade: SiteUpgradeNow, reason: string, at: Now): SiteUpgradeDecision {
  const stopped = { ...siteUpgrade, stopping: 'failed' as const, stopReason: reason, hold: null }
  return advance(stopped, decideTargets(stopped, { ...at, stopping: true, held: false, offlineDeadlineMs: null }), at)
}

interface Round extends Omit<SiteUpgradeDecision, 'siteUpgrade'> {
  readonly counts: TargetCounts
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  readonly untilMs: readonly number[]
  /** A target of an open phase can't be commanded yet, and its device is on its way back. */
  readonly awaitsDevices: boolean
}

function decideTargets(siteUpgrade: SiteUpgradeNow, at: TargetRules): Round {
  const decided = siteUpgrade.targets.map((target) => {
    const graces = { startMs: at.graceUntilMs, siteMs: siteUpgrade.graceUntilMs }
    const rules = { ...at, graceUntilMs: graceOf(target, graces, at.options) }
    return { target, decision: decideTarget(target, rules) }
  })
  const steps = decided.flatMap(({ target, decision }) => stepOf(target, decision) ?? [])
  return {
    steps,
    withdrawn: decided.flatMap(({ decision }) => (decision.kind === 'withdraw' ? [decision.commandId] : [])),
    fences: decided.flatMap(({ decision: { kind, ...key } }) => (kind === 'fence' && 'imageId' in key ? [key] : [])),
    counts: countSteps(siteUpgrade.counts, steps),
    hardFailures: countByPhase(siteUpgrade.hardFailures, steps.filter(isHardFailure)),
    upgradedByPhase: countByPhase(siteUpgrade.upgradedByPhase, steps.filter(isUpgraded)),
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
    case 'withdraw':
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
function advance(siteUpgrade: SiteUpgradeNow, round: Round, { now, nowMs, options }: Now): SiteUpgradeDecision {
  const { steps, withdrawn, fences, counts, hardFailures, upgradedByPhase } = round
  const openedMs = siteUpgrade.phaseOpenedMs ?? (siteUpgrade.hold === null ? nowMs : null)
  const results = { counts, hardFailures, upgradedByPhase }
  const base = { ...results, phaseOpenedMs: openedMs, status: statusOf(siteUpgrade.status, counts) }
  const decide = (more: Partial<SiteUpgradeChange>): SiteUpgradeDecision => ({
    steps,
    withdrawn,
    fences,
    siteUpgrade: change(siteUpgrade, { ...base, ...more }),
  })
  if (openCount(counts) === 0)
    return decide({ status: siteUpgrade.stopping ?? 'completed', hold: null, finishedAt: now, dueMs: null })
  if (withdrawn.length > 0 || fences.length > 0) return decide({ dueMs: nowMs })
  // The targets of phases that were not read are read and cancelled in the next round.
  if (siteUpgrade.stopping !== null)
    return decide({ dueMs: steps.length === 0 || inFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : nowMs })
  if (siteUpgrade.hold !== null) return decide({ dueMs: inFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : null })
  // A round leaves no target of an open phase planned, unless its device is on its way back. Absent ones don't block.
  if (!inFlight(counts) && !round.awaitsDevices && siteUpgrade.currentPhase < siteUpgrade.plan.phases) {
    if (siteUpgrade.plan.phase_scope === 'site') return decide(passGate(siteUpgrade, round, { now, nowMs }))
    // The organization's upgrade wakes this one when it opens the next phase.
    if (counts.deferred === 0) return decide({ dueMs: null })
  }
  const pollMs = nowMs + (inFlight(counts) || round.awaitsDevices ? IN_FLIGHT_POLL_MS : DEFERRED_POLL_MS)
  const endMs = deadlineMs({ ...siteUpgrade, phaseOpenedMs: openedMs }, options)
  return decide({ dueMs: Math.min(pollMs, ...round.untilMs, ...(endMs !== null && endMs > nowMs ? [endMs] : [])) })
}

/** Opens the next phase of a site upgrade that has phases of its own, or holds it. */
function passGate(
  siteUpgrade: SiteUpgradeNow,
  { hardFailures: failures, upgradedByPhase: upgraded }: Round,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): Partial<SiteUpgradeChange> {
  const { currentPhase, gatePassed, plan } = siteUpgrade
  const reason = gatePassed >= currentPhase ? null : findHoldReason(currentPhase, { failures, upgraded }, plan)
  if (reason !== null) return { hold: { by: 'gate', reason, since_s: epochS(now), since_ms: nowMs }, dueMs: null }
  return { currentPhase: currentPhase + 1, phaseOpenedMs: nowMs, dueMs: nowMs }
}

function inFlight(counts: TargetCounts): boolean {
  return Object.entries(counts).some(([state, count]) => count > 0 && isInFlight(state as TargetState))
}

/** It never goes back: a site upgrade that has rebooted devices stays `upgrading`. */
function statusOf(status: UpgradeStatus, counts: TargetCounts): UpgradeStatus {
  if (status === 'upgrading' || counts.rebooting + counts.verifying + counts.upgraded > 0) return 'upgrading'
  return counts.dl_requested + counts.downloading > 0 ? 'downloading' : status
}

/** The time of grace for absent devices begins when the last phase opens. */
function deadlineMs(
  siteUpgrade: Pick<SiteUpgradeNow, 'currentPhase' | 'phaseOpenedMs' | 'plan'>,
  options: RolloutOptions,
): number | null {
  if (siteUpgrade.currentPhase < siteUpgrade.plan.phases || siteUpgrade.phaseOpenedMs === null) return null
  return siteUpgrade.phaseOpenedMs + options.offlineDeadlineMs
}

const nothing = { steps: [], withdrawn: [], fences: [] } satisfies Omit<SiteUpgradeDecision, 'siteUpgrade'>

function change(siteUpgrade: SiteUpgradeNow, changed: Partial<SiteUpgradeChange>): SiteUpgradeChange {
  const { status, stopping, stopReason, hold, currentPhase, phaseOpenedMs, counts, hardFailures, upgradedByPhase } =
    siteUpgrade
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
