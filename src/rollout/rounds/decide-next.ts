import { holdOf } from '../gates/decide-wait.ts'
import { type Capacity, limitToCapacity, unlimited } from '../phases/decide-capacity.ts'
import { countDownloads, haveImages, passDownloadGate } from '../phases/decide-downloads.ts'
import { findHoldReason, ofDownloads } from '../gates/decide-hold.ts'
import { hasEnded } from '../stops/decide-end.ts'
import { type CountsByPhase, type FailuresByPhase, findPhaseStopReason, findStopReason } from '../stops/decide-stop.ts'
import { decideOutcome, isAnyInFlight, statusOf } from './decide-outcome.ts'
import { phaseRulesOf } from '../phases/decide-phase-rules.ts'
import {
  type Step,
  beginsSnapshot,
  countByPhase,
  countReleased,
  countSteps,
  isHardFailure,
  isSuccess,
  stepOf,
} from './decide-step.ts'
import { decideTarget } from '../targets/steps/decide-target.ts'
import { beginsWithin, findClosedUntil, wallOf } from '../targets/steps/decide-window.ts'
import { graceOf } from '../grace/limit-grace.ts'
import {
  type RolloutOptions,
  type SiteDownloads,
  type TargetCounts,
  type TargetState,
  type UpgradePlan,
  isInFlight,
  openCount,
} from '../rollout.ts'
import type { Now, SiteUpgradeChange, SiteUpgradeDecision, SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow, TargetRules } from '../targets/target.ts'

/** Devices in flight change without informing the engine; absent ones take their time. */
export const IN_FLIGHT_POLL_MS = 1000
export const DEFERRED_POLL_MS = 5000

/**
 * Decides one round of a site upgrade: the next step of each target, whether a limit trips, whether the next phase
 * opens, and whether the upgrade is over. Pure; everything in the result must be committed together.
 * @param capacity How many more devices may begin.
 */
export function decideNext(siteUpgrade: SiteUpgradeNow, at: Now, capacity = unlimited): SiteUpgradeDecision {
  const waitMs = firstInstant(siteUpgrade).getTime() - at.now.getTime()
  // An upgrade that has begun continues, even if the clock is set back behind its start.
  if (siteUpgrade.stopping === null && siteUpgrade.phaseOpenedMs === null && waitMs > 0)
    return { ...nothing, siteUpgrade: change(siteUpgrade, { status: 'queued', dueMs: at.nowMs + waitMs }) }
  const beginMs = beginsWithin(siteUpgrade.plan, at)
  const opensMs = findClosedUntil({ nowMs: at.nowMs, beginMs })
  if (siteUpgrade.stopping === null && siteUpgrade.phaseOpenedMs === null && opensMs !== null)
    return {
      ...nothing,
      siteUpgrade: change(siteUpgrade, { status: 'queued', dueMs: opensMs, waitsUntil: wallOf(opensMs, at) }),
    }
  const free = decideTargets(siteUpgrade, {
    ...at,
    beginMs,
    stopping: siteUpgrade.stopping !== null,
    // The stop that follows needs a moment, and a service that was down has not made it yet.
    held: siteUpgrade.hold !== null || hasEnded(siteUpgrade.plan, at.now),
    ...partsOf(siteUpgrade),
    rebootMs: rebootMs(siteUpgrade, at),
    openedMs: siteUpgrade.phaseOpenedMs,
    mayDownload: true,
    offlineDeadlineMs: deadlineMs(siteUpgrade, at.options),
    capacity,
  })
  const tripped = siteUpgrade.stopping === null ? findReason(free, siteUpgrade.plan) : null
  return tripped === null ? advance(siteUpgrade, free, at) : stopWith(siteUpgrade, tripped, at)
}

/** Returns which limit the failures of a site exceed; null: none. */
function findReason({ hardFailures, downloads }: Round, plan: UpgradePlan): string | null {
  const reason = findStopReason(hardFailures, plan)
  return reason ?? findPhaseStopReason(downloads?.failures ?? {}, plan.downloads?.gates ?? null, ofDownloads)
}

/** The same round, but ended by a limit that a sibling's failures exceeded. */
export function decideStop(siteUpgrade: SiteUpgradeNow, reason: string, at: Now): SiteUpgradeDecision {
  return siteUpgrade.stopping === null ? stopWith(siteUpgrade, reason, at) : decideNext(siteUpgrade, at)
}

/**
 * Returns the first instant at which anything may happen: the start if devices download separately from their reboot,
 * otherwise the reboot.
 */
function firstInstant({ startAt, rebootAt, plan }: SiteUpgradeNow): Date {
  return plan.stages || startAt > rebootAt ? startAt : rebootAt
}

/**
 * Returns when the reboots begin, in service time. Where nothing happens before them, an upgrade that has begun
 * continues.
 */
function rebootMs({ rebootAt, plan }: SiteUpgradeNow, { now, nowMs }: Pick<Now, 'now' | 'nowMs'>): number {
  return plan.stages ? nowMs + Math.max(0, rebootAt.getTime() - now.getTime()) : nowMs
}

function stopWith(siteUpgrade: SiteUpgradeNow, reason: string, at: Now): SiteUpgradeDecision {
  const stopped = { ...siteUpgrade, stopping: 'failed' as const, stopReason: reason, hold: null }
  const rules = {
    ...at,
    stopping: true,
    held: false,
    ...partsOf(siteUpgrade),
    rebootMs: at.nowMs,
    beginMs: () => at.nowMs,
    openedMs: siteUpgrade.phaseOpenedMs,
    mayDownload: true,
    offlineDeadlineMs: null,
    capacity: unlimited,
  }
  return { ...advance(stopped, decideTargets(stopped, rules), at), isStopped: true }
}

/** Returns the part of the upgrade that each device performs. */
function partsOf({ plan }: SiteUpgradeNow): Pick<TargetRules, 'only' | 'snapshot' | 'rollback'> {
  return { only: plan.only ?? null, snapshot: plan.snapshot ?? false, rollback: plan.rollback ?? false }
}

interface Round extends Omit<SiteUpgradeDecision, 'siteUpgrade'> {
  readonly counts: TargetCounts
  readonly released: number
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  readonly downloads: SiteDownloads | null
  /** The targets after the round, if the downloads have phases. */
  readonly after: readonly TargetNow[]
  /** The first instant for which a target waits; infinite if none does. */
  readonly untilMs: number
  /** A target of an open phase can't be commanded yet: it is too early, or its device is on its way back. */
  readonly awaitsDevices: boolean
  /** The same, except for targets that wait for a maintenance window. */
  readonly awaitsOpen: boolean
  /** When the first maintenance window opens that targets wait for. */
  readonly opensMs: number | null
  /** When the next one opens, if none is open. */
  readonly closedUntilMs: number | null
}

function decideTargets(siteUpgrade: SiteUpgradeNow, at: TargetRules & { readonly capacity: Capacity }): Round {
  const phaseRules = phaseRulesOf(siteUpgrade, at.rebootMs)
  const graces = { startMs: at.graceUntilMs, siteMs: siteUpgrade.graceUntilMs }
  // Most targets have the rules of the one before.
  let rules: TargetRules = at
  const free = siteUpgrade.targets.map((target) => {
    const { rebootMs: rebootsMs, mayDownload } = phaseRules(target)
    const graceUntilMs = graceOf(target, graces, at.options)
    if (rules.rebootMs !== rebootsMs || rules.mayDownload !== mayDownload || rules.graceUntilMs !== graceUntilMs)
      rules = { ...at, rebootMs: rebootsMs, mayDownload, graceUntilMs }
    return { target, decision: decideTarget(target, rules) }
  })
  const decided = limitToCapacity(free, at.capacity)
  const steps = decided.flatMap(({ target, decision }) => stepOf(target, decision) ?? [])
  const waits = decided.flatMap(({ target, decision }) => (decision.kind === 'wait' ? [{ target, decision }] : []))
  const openings = waits.flatMap(({ decision }) => (decision.for === 'window' ? (decision.untilMs ?? []) : []))
  return {
    steps,
    withdrawn: decided.flatMap(({ decision }) => (decision.kind === 'withdraw' ? [decision.commandId] : [])),
    fences: decided.flatMap(({ decision: { kind, ...key } }) => (kind === 'fence' && 'imageId' in key ? [key] : [])),
    counts: countSteps(siteUpgrade.counts, steps),
    released: siteUpgrade.released + countReleased(steps, at.stopping),
    hardFailures: countByPhase(siteUpgrade.hardFailures, steps.filter(isHardFailure)),
    upgradedByPhase: countByPhase(siteUpgrade.upgradedByPhase, steps.filter(isSuccess)),
    downloads: siteUpgrade.downloads && countDownloads(siteUpgrade.downloads, steps),
    after: siteUpgrade.downloads === null ? [] : targetsAfter(siteUpgrade.targets, steps),
    untilMs: Math.min(
      firstOf(waits.map(({ decision }) => decision.untilMs)),
      firstOf(steps.map((step) => step.retryAtMs)),
    ),
    awaitsDevices: waits.some(({ target }) => isWaiting(target.state)),
    awaitsOpen: waits.some(({ target, decision }) => isWaiting(target.state) && decision.for !== 'window'),
    opensMs: openings.length === 0 ? null : firstOf(openings),
    closedUntilMs: findClosedUntil(at),
  }
}

/** A call can't have as many arguments as a large upgrade has targets. */
function firstOf(times: readonly (number | null | undefined)[]): number {
  return times.reduce<number>((first, time) => Math.min(first, time ?? Infinity), Infinity)
}

function targetsAfter(targets: readonly TargetNow[], steps: readonly Step[]): TargetNow[] {
  const changes = new Map(steps.map(({ target, to, staged }) => [target, { state: to, staged }]))
  return targets.map((target) => Object.assign({}, target, changes.get(target)))
}

function isWaiting(state: TargetState): boolean {
  return state === 'planned' || state === 'downloaded'
}

/** Opens the next phase, ends the upgrade, or sets the time of the next round. */
function advance(siteUpgrade: SiteUpgradeNow, round: Round, { now, nowMs, options }: Now): SiteUpgradeDecision {
  const { steps, withdrawn, fences, counts, released, hardFailures, upgradedByPhase, downloads } = round
  const rebootsMs = rebootMs(siteUpgrade, { now, nowMs })
  const isEarly = rebootsMs > nowMs
  const openedMs = openedAtMs(siteUpgrade, { nowMs, isEarly })
  const waitsUntil = round.opensMs === null ? null : wallOf(round.opensMs, { now, nowMs })
  const results = { counts, released, hardFailures, upgradedByPhase, downloads, waitsUntil }
  const base = { ...results, phaseOpenedMs: openedMs, status: statusOf(siteUpgrade.status, counts) }
  const decide = (more: Partial<SiteUpgradeChange>): SiteUpgradeDecision => ({
    steps,
    withdrawn,
    fences,
    siteUpgrade: change(siteUpgrade, { ...base, ...more }),
  })
  if (openCount(counts) === 0)
    return decide({
      ...decideOutcome({ ...siteUpgrade, released }, counts),
      ...{ hold: null, finishedAt: now, dueMs: null, waitsUntil: null },
    })
  if (withdrawn.length > 0 || fences.length > 0) return decide({ dueMs: nowMs })
  // The next round reads and cancels the targets of phases that were not read.
  if (siteUpgrade.stopping !== null)
    return decide({ dueMs: steps.length === 0 || isAnyInFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : nowMs })
  if (siteUpgrade.hold !== null) return decide({ dueMs: isAnyInFlight(counts) ? nowMs + IN_FLIGHT_POLL_MS : null })
  // A device that has just downloaded may be commanded to reboot immediately.
  if (!isEarly && steps.some(({ to }) => to === 'downloaded')) return decide({ dueMs: nowMs })
  if (steps.some((step) => step.hop !== undefined || beginsSnapshot(step))) return decide({ dueMs: nowMs })
  const gate = passDownloads(siteUpgrade, round, { now, nowMs })
  if (gate !== null) return decide(gate)
  if (isSettled(siteUpgrade, round, isEarly) && siteUpgrade.currentPhase < siteUpgrade.plan.phases) {
    if (siteUpgrade.plan.phase_scope === 'site') return decide(passGate(siteUpgrade, round, { now, nowMs }))
    // The organization upgrade wakes this one when it opens the next phase. Downloads may still wait for their turn.
    if (counts.deferred === 0 && !isAnyInFlight(counts) && !round.awaitsDevices) return decide({ dueMs: null })
  }
  const { closedUntilMs } = round
  if (closedUntilMs !== null && !isAnyInFlight(counts))
    return decide({ dueMs: closedUntilMs, waitsUntil: wallOf(closedUntilMs, { now, nowMs }) })
  const isMoving = isAnyInFlight(counts) || (round.awaitsOpen && !isEarly)
  const pollMs = Math.min(nowMs + (isMoving ? IN_FLIGHT_POLL_MS : DEFERRED_POLL_MS), isEarly ? rebootsMs : Infinity)
  const endMs = deadlineMs({ ...siteUpgrade, phaseOpenedMs: openedMs }, options)
  return decide({ dueMs: Math.min(pollMs, round.untilMs, ...(endMs !== null && endMs > nowMs ? [endMs] : [])) })
}

/**
 * True if the open phases wait for no target. Once the reboots may begin, a round leaves no target of an open phase
 * planned or downloaded, unless its device is on its way back. Absent devices don't block.
 */
function isSettled(
  { currentPhase }: SiteUpgradeNow,
  { counts, downloads, ...round }: Round,
  isEarly: boolean,
): boolean {
  if (downloads === null) return !isAnyInFlight(counts) && !round.awaitsDevices && counts.downloaded === 0
  const isPending = ({ state }: TargetNow): boolean => isInFlight(state) || isWaiting(state)
  // Targets that have their image are not read before the reboots begin.
  return (
    (!isEarly || counts.downloaded === 0) && !round.after.some((one) => one.phase <= currentPhase && isPending(one))
  )
}

/** Opens the next phase of the downloads, or pauses the upgrade; null: neither. */
function passDownloads(
  { plan }: SiteUpgradeNow,
  { downloads, after }: Round,
  at: Pick<Now, 'now' | 'nowMs'>,
): Partial<SiteUpgradeChange> | null {
  if (downloads === null || plan.downloads === undefined || !haveImages(after, downloads)) return null
  const passed = passDownloadGate(downloads, plan.downloads, at)
  return passed && { ...passed, dueMs: 'hold' in passed ? null : at.nowMs }
}

/** Absent devices have time to come back from the start of the reboots. */
function openedAtMs(
  { hold, phaseOpenedMs }: SiteUpgradeNow,
  { nowMs, isEarly }: { readonly nowMs: number; readonly isEarly: boolean },
): number | null {
  if (hold !== null) return phaseOpenedMs
  return isEarly ? nowMs : (phaseOpenedMs ?? nowMs)
}

/** Opens the next phase of a site upgrade with its own phases, or pauses it. */
function passGate(
  siteUpgrade: SiteUpgradeNow,
  { hardFailures: failures, upgradedByPhase: upgraded }: Round,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): Partial<SiteUpgradeChange> {
  const { currentPhase, gatePassed, plan } = siteUpgrade
  const reason = gatePassed >= currentPhase ? null : findHoldReason(currentPhase, { failures, upgraded }, plan)
  if (reason !== null) return { hold: holdOf({ by: 'gate', reason }, { now, nowMs }), dueMs: null }
  return { currentPhase: currentPhase + 1, phaseOpenedMs: nowMs, dueMs: nowMs }
}

/** Absent devices get their grace from the opening of the last phase. */
function deadlineMs(
  siteUpgrade: Pick<SiteUpgradeNow, 'currentPhase' | 'phaseOpenedMs' | 'plan'>,
  options: RolloutOptions,
): number | null {
  if (siteUpgrade.currentPhase < siteUpgrade.plan.phases || siteUpgrade.phaseOpenedMs === null) return null
  return siteUpgrade.phaseOpenedMs + options.offlineDeadlineMs
}

const nothing = { steps: [], withdrawn: [], fences: [] } satisfies Omit<SiteUpgradeDecision, 'siteUpgrade'>

function change(siteUpgrade: SiteUpgradeNow, changed: Partial<SiteUpgradeChange>): SiteUpgradeChange {
  const { status, stopping, stopReason, hold, currentPhase, phaseOpenedMs, counts, released } = siteUpgrade
  const { hardFailures, upgradedByPhase, downloads } = siteUpgrade
  return {
    status,
    stopping,
    stopReason,
    hold,
    currentPhase,
    phaseOpenedMs,
    counts,
    released,
    hardFailures,
    upgradedByPhase,
    downloads,
    finishedAt: null,
    dueMs: null,
    waitsUntil: null,
    ...changed,
  }
}
