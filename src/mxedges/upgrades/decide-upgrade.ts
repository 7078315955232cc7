import { leastOf } from '../../platform/extremes.ts'
import { findHoldReason, ofAppliances } from '../../rollout/gates/decide-hold.ts'
import { holdOf, waitEndMs } from '../../rollout/gates/decide-wait.ts'
import { decideOutcome } from '../../rollout/rounds/decide-outcome.ts'
import { countByPhase, countReleased, isHardFailure, isSuccess } from '../../rollout/rounds/decide-step.ts'
import { endOf, endReason } from '../../rollout/stops/decide-end.ts'
import { type CountsByPhase, type FailuresByPhase, findStopReason } from '../../rollout/stops/decide-stop.ts'
import type { PhaseApproval, UpgradeHold } from '../../rollout/rollout.ts'
import { wallOf } from '../../rollout/targets/steps/decide-window.ts'
import { findPhaseWait, findStartWait } from './decide-wait.ts'
import { decideTarget } from './decide-target.ts'
import { beginsFinder, installMs } from './decide-window.ts'
import type { MxedgeTargetNow, MxedgeUpgradeOptions, TargetChange, TargetDecision, TargetRules } from './target.ts'
import {
  type MxedgeTargetCounts,
  type MxedgeUpgradePlan,
  type MxedgeUpgradeStatus,
  inFlightStates,
  isInFlight,
  isTerminal,
  waitingStates,
} from './upgrade.ts'

/**
 * An upgrade with those of its targets that have not ended, in the order of the plan: of the phases opened so far, or of
 * all when it stops.
 */
export interface MxedgeUpgradeNow<T extends MxedgeTargetNow = MxedgeTargetNow> {
  readonly status: MxedgeUpgradeStatus
  readonly stopping: 'failed' | 'cancelled' | null
  readonly stopReason: string | null
  readonly hold: UpgradeHold | null
  readonly approvals: readonly PhaseApproval[]
  /** The gate after this phase is not evaluated again; 0 = none. */
  readonly gatePassed: number
  readonly startAt: Date
  readonly plan: MxedgeUpgradePlan
  readonly currentPhase: number
  readonly phaseOpenedMs: number | null
  readonly counts: MxedgeTargetCounts
  /** How many of the cancelled targets no stop has ended. */
  readonly released: number
  readonly hardFailures: FailuresByPhase
  readonly upgradedByPhase: CountsByPhase
  readonly targets: readonly T[]
}

/** The members of MxedgeUpgradeNow that change. */
export interface MxedgeUpgradeChange extends Omit<MxedgeUpgradeNow, 'approvals' | 'startAt' | 'plan' | 'targets'> {
  readonly finishedAt: Date | null
  /** When the maintenance window opens that appliances wait for; null: none does. */
  readonly waitsUntil: Date | null
}

export interface MxedgeUpgradeDecision<T extends MxedgeTargetNow = MxedgeTargetNow> {
  readonly steps: readonly (TargetChange & { readonly target: T })[]
  /** Ids of commands. */
  readonly withdrawn: readonly string[]
  readonly upgrade: MxedgeUpgradeChange
  /** True if another round should follow immediately. */
  readonly isDue: boolean
  /** Failures beyond a limit stop it in this round. Absent: none do; it may end as failed because of an earlier stop. */
  readonly isStopped?: true
}

export interface Now extends Pick<TargetRules, 'nowMs' | 'options' | 'graceUntilMs'> {
  /** On the wall clock: for start times set by people, and for the record. */
  readonly now: Date
  /** Clusters with a member that another upgrade has in flight. */
  readonly busyClusters: ReadonlySet<string>
}

/**
 * Decides one round of an upgrade: the next change of each target, whether a limit trips, whether the next phase opens,
 * and whether the upgrade is over. Pure; everything in the result must be committed together.
 */
export function decideUpgrade<T extends MxedgeTargetNow>(
  upgrade: MxedgeUpgradeNow<T>,
  at: Now,
): MxedgeUpgradeDecision<T> {
  const waitMs = upgrade.startAt.getTime() - at.now.getTime()
  const current = endWait(stopAtEnd(upgrade, at.now), at)
  // An upgrade that has begun continues, even if the clock is set back behind its start.
  if (current.stopping === null && current.phaseOpenedMs === null) {
    const wait = findStartWait(current)
    const hold = current.hold ?? (wait && holdOf(wait, at))
    if (waitMs > 0 || wait !== null)
      return { steps: [], withdrawn: [], upgrade: changed(current, { hold }), isDue: false }
  }
  const begun = { ...current, status: 'upgrading' as const, phaseOpenedMs: current.phaseOpenedMs ?? at.nowMs }
  const round = decideTargets(begun, at)
  const reason = begun.stopping === null ? findStopReason(round.hardFailures, upgrade.plan, ofAppliances) : null
  if (reason === null) return finishRound(begun, round, at)
  const stopped = { ...begun, stopping: 'failed' as const, stopReason: reason, hold: null }
  return { ...finishRound(stopped, decideTargets(stopped, at), at), isStopped: true }
}

/** From its end on an upgrade stops as if a person had cancelled it. */
function stopAtEnd<T extends MxedgeTargetNow>(upgrade: MxedgeUpgradeNow<T>, now: Date): MxedgeUpgradeNow<T> {
  const endsAt = endOf(upgrade.plan)
  if (endsAt === null || endsAt > now || upgrade.stopping !== null) return upgrade
  return { ...upgrade, stopping: 'cancelled', stopReason: endReason(endsAt), hold: null }
}

/** A wait for a time ends by itself. After its instant, a gate with a further condition is evaluated again. */
function endWait<T extends MxedgeTargetNow>(upgrade: MxedgeUpgradeNow<T>, at: Now): MxedgeUpgradeNow<T> {
  const { hold, currentPhase, gatePassed, plan } = upgrade
  if (hold?.by !== 'time' || waitEndMs(hold, at) > at.nowMs) return upgrade
  const isTimed = plan.gates?.[currentPhase - 1]?.wait_for === 'time'
  return { ...upgrade, hold: null, gatePassed: isTimed ? currentPhase : gatePassed }
}

interface Round<T extends MxedgeTargetNow> extends Pick<
  MxedgeUpgradeNow,
  'counts' | 'released' | 'hardFailures' | 'upgradedByPhase'
> {
  readonly steps: MxedgeUpgradeDecision<T>['steps']
  readonly withdrawn: readonly string[]
  /** True if no target of an open phase is planned or in flight after the round. */
  readonly isSettled: boolean
  readonly waitsUntil: Date | null
}

function decideTargets<T extends MxedgeTargetNow>(upgrade: MxedgeUpgradeNow<T>, at: Now): Round<T> {
  const isOpen = openTargetsOf(upgrade)
  const busy = new Set(at.busyClusters)
  for (const target of upgrade.targets) if (isInFlight(target.state)) markBusy(busy, target)
  const rules = {
    ...at,
    stopping: upgrade.stopping !== null,
    held: upgrade.hold !== null,
    offlineDeadlineMs: deadlineMs(upgrade, at.options),
  }
  const beginsAt = beginsFinder(upgrade.plan, at)
  const decided = upgrade.targets.map((target) => {
    const beginMs = beginsAt(target.plannedSiteId)
    const clusterId = target.appliance?.clusterId ?? null
    const isClusterFree = clusterId === null || isInFlight(target.state) || !busy.has(clusterId)
    const isPhaseOpen = target.phase <= upgrade.currentPhase
    const decision = decideTarget(target, { ...rules, beginMs, isPhaseOpen, isOpen: isOpen(target), isClusterFree })
    if (decision.kind === 'change' && isInFlight(decision.change.state)) markBusy(busy, target)
    return { target, decision }
  })
  const steps = decided.flatMap(({ target, decision }) =>
    decision.kind === 'change' ? [{ ...decision.change, target }] : [],
  )
  const named = steps.map((step) => ({ ...step, to: step.state }))
  const states = new Map<MxedgeTargetNow, MxedgeTargetNow['state']>(steps.map(({ target, state }) => [target, state]))
  return {
    steps,
    withdrawn: decided.flatMap(({ decision }) => (decision.kind === 'withdraw' ? [decision.commandId] : [])),
    counts: countSteps(upgrade.counts, steps),
    released: upgrade.released + countReleased(named, rules.stopping),
    hardFailures: countByPhase(upgrade.hardFailures, named.filter(isHardFailure)),
    upgradedByPhase: countByPhase(upgrade.upgradedByPhase, named.filter(isSuccess)),
    isSettled: upgrade.targets
      .map((target) => states.get(target) ?? target.state)
      .every((state) => isTerminal(state) || state === 'deferred'),
    waitsUntil: upgrade.stopping !== null || upgrade.hold !== null ? null : findOpening(decided, upgrade, at),
  }
}

/** Returns the earliest opening that an appliance of the open phases waits for. */
function findOpening(
  decided: readonly { readonly target: MxedgeTargetNow; readonly decision: TargetDecision }[],
  { currentPhase, plan }: Pick<MxedgeUpgradeNow, 'currentPhase' | 'plan'>,
  at: Now,
): Date | null {
  if (plan.windows === undefined) return null
  const beginsAt = beginsFinder(plan, at)
  const openings = decided.flatMap(({ target, decision }) => {
    const { state, phase, plannedSiteId, steps, step } = target
    if (decision.kind !== 'wait' || isInFlight(state) || state === 'downloading' || phase > currentPhase) return []
    const opensMs = [0, installMs(steps.slice(step), at.options)].map(beginsAt(plannedSiteId))
    return opensMs.find((ms) => ms !== null && ms > at.nowMs) ?? []
  })
  return openings.length === 0 ? null : wallOf(leastOf(openings), at)
}

function markBusy(busy: Set<string>, { appliance }: MxedgeTargetNow): void {
  if (appliance?.clusterId != null) busy.add(appliance.clusterId)
}

/** The waves of a phase follow one another; within them, only absent appliances delay no others. */
function openTargetsOf({ currentPhase, targets }: Pick<MxedgeUpgradeNow, 'currentPhase' | 'targets'>) {
  const unsettled = targets.filter(({ phase, state }) => phase === currentPhase && state !== 'deferred')
  const wave = leastOf(unsettled.map((target) => target.wave))
  return (target: MxedgeTargetNow): boolean =>
    target.phase < currentPhase || (target.phase === currentPhase && target.wave <= wave)
}

function countSteps(counts: MxedgeTargetCounts, steps: MxedgeUpgradeDecision['steps']): MxedgeTargetCounts {
  const changedCounts = { ...counts }
  for (const { target, state } of steps) {
    changedCounts[target.state] -= 1
    changedCounts[state] += 1
  }
  return changedCounts
}

/** Opens the next phase, or ends the upgrade. */
function finishRound<T extends MxedgeTargetNow>(
  upgrade: MxedgeUpgradeNow,
  { steps, withdrawn, isSettled, waitsUntil, ...results }: Round<T>,
  at: Now,
): MxedgeUpgradeDecision<T> {
  const decide = (more: Partial<MxedgeUpgradeChange>, isDue: boolean): MxedgeUpgradeDecision<T> => ({
    steps,
    withdrawn,
    upgrade: changed(upgrade, { ...results, waitsUntil, ...more }),
    isDue,
  })
  const { counts, released } = results
  if (openCount(counts) === 0)
    return decide(
      {
        ...decideOutcome({ ...upgrade, released }, counts, { unit: 'edge appliance' }),
        hold: null,
        waitsUntil: null,
        finishedAt: at.now,
      },
      false,
    )
  const isMoving = counts.downloading > 0 || inFlightStates.some((state) => counts[state] > 0)
  const isReady = steps.some(({ state }) => state === 'downloaded')
  // Targets of phases that were not open are read, and cancelled, in the next round.
  if (upgrade.stopping !== null) return decide({}, withdrawn.length > 0 || (steps.length > 0 && !isMoving))
  if (upgrade.hold !== null || !isSettled || upgrade.currentPhase === upgrade.plan.phases)
    return decide({}, withdrawn.length > 0 || isReady || (steps.length > 0 && !isMoving && !isSettled))
  return decide(passGate(upgrade, results, at), true)
}

function openCount(counts: MxedgeTargetCounts): number {
  return [...waitingStates, ...inFlightStates].reduce((sum, state) => sum + counts[state], 0)
}

/** Opens the next phase, or pauses the upgrade. */
function passGate(
  upgrade: MxedgeUpgradeNow,
  { hardFailures: failures, upgradedByPhase: upgraded }: Pick<MxedgeUpgradeNow, 'hardFailures' | 'upgradedByPhase'>,
  at: Pick<Now, 'now' | 'nowMs'>,
): Partial<MxedgeUpgradeChange> {
  const { currentPhase, gatePassed, plan } = upgrade
  const reason =
    gatePassed >= currentPhase ? null : findHoldReason(currentPhase, { failures, upgraded }, plan, ofAppliances)
  const wait = reason === null ? findPhaseWait(upgrade, at.now) : { by: 'gate' as const, reason }
  if (wait !== null) return { hold: holdOf(wait, at) }
  return { currentPhase: currentPhase + 1, phaseOpenedMs: at.nowMs }
}

/** Absent appliances are waited for from the opening of the last phase. */
function deadlineMs(
  { currentPhase, phaseOpenedMs, plan }: MxedgeUpgradeNow,
  { offlineDeadlineMs }: MxedgeUpgradeOptions,
): number | null {
  return currentPhase < plan.phases || phaseOpenedMs === null ? null : phaseOpenedMs + offlineDeadlineMs
}

function changed(upgrade: MxedgeUpgradeNow, change: Partial<MxedgeUpgradeChange>): MxedgeUpgradeChange {
  const { status, stopping, stopReason, hold, gatePassed, currentPhase, phaseOpenedMs } = upgrade
  const { counts, released, hardFailures, upgradedByPhase } = upgrade
  const results = { counts, released, hardFailures, upgradedByPhase }
  return {
    status,
    stopping,
    stopReason,
    hold,
    gatePassed,
    currentPhase,
    phaseOpenedMs,
    ...results,
    finishedAt: null,
    waitsUntil: null,
    ...change,
  }
}
