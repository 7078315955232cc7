import { addDownloads, listDownloadMoves } from './decide-downloads.ts'
import { findHoldReason, wordsOf } from '../gates/decide-hold.ts'
import type { Now } from '../site-upgrade-now.ts'
import { type Wait, findWait, holdOf } from '../gates/decide-wait.ts'
import { type Step, countByPhase, isHardFailure, isSuccess } from '../rounds/decide-step.ts'
import type { CountsByPhase, FailuresByPhase } from '../stops/decide-stop.ts'
import { type OrgPhasePlan, type TargetState, type UpgradeHold, isInFlight } from '../rollout.ts'

/** The state of an organization upgrade whose phases, or those of its downloads, are shares of the whole. */
export interface OrgPhases {
  /**
   * `downloads`: they are phases of the downloads, and `upgraded` counts the devices with the image. Absent: they are
   * not.
   */
  readonly of?: 'downloads'
  /** Targets by phase, as planned, at all sites. */
  readonly sizes: readonly number[]
  readonly gates: OrgPhasePlan['gates']
  /** The phase that is open, from 1. */
  readonly current: number
  /** The gate after this phase is not evaluated again; 0 = none. */
  readonly gatePassed: number
  /** The phases that people have approved, once for each of the people. */
  readonly approved: readonly number[]
  /** The phases after which people have opened the next one before its instant. */
  readonly hurried: readonly number[]
  /** Targets that the gate waits for, by phase: those in flight, planned or downloaded, also at sites yet to start. */
  readonly pending: CountsByPhase
  readonly failures: FailuresByPhase
  readonly upgraded: CountsByPhase
  /** While it is paused or stopping, no phase opens. */
  readonly hold: UpgradeHold | null
  readonly stopping: 'failed' | 'cancelled' | null
}

/** The members of OrgPhases that a round changes. `hold` is set when the round pauses the upgrade. */
export type OrgPhasesChange = Pick<OrgPhases, 'current' | 'pending' | 'failures' | 'upgraded' | 'hold'>

/** Adds the steps to the counters of the phases; the same phase stays open. */
export function countOrgPhases(phases: OrgPhases, steps: readonly Step[]): OrgPhases {
  if (phases.of === 'downloads') return countOrgDownloads(phases, steps)
  const pending: Record<string, number> = { ...phases.pending }
  for (const { target, to } of steps) {
    const { phase, state } = target
    pending[phase] = (pending[phase] ?? 0) + Number(isPending(to)) - Number(isPending(state))
  }
  return {
    ...phases,
    pending,
    failures: countByPhase(phases.failures, steps.filter(isHardFailure)),
    upgraded: countByPhase(phases.upgraded, steps.filter(isSuccess)),
  }
}

function countOrgDownloads(phases: OrgPhases, steps: readonly Step[]): OrgPhases {
  const moves = listDownloadMoves(steps)
  return {
    ...phases,
    pending: addDownloads(phases.pending, moves, ({ pending }) => pending),
    failures: addDownloads(phases.failures, moves, ({ failed }) => Number(failed)),
    upgraded: addDownloads(phases.upgraded, moves, ({ downloaded }) => downloaded),
  }
}

function isPending(state: TargetState): boolean {
  return state === 'planned' || state === 'downloaded' || isInFlight(state)
}

/**
 * Decides the changes of a round to the phases of the whole upgrade. The gate after a phase opens the next one at all
 * sites, once every target of the open phases has ended or is deferred. Too many failures in the phase, no success, or
 * a gate that waits for a person pause the upgrade instead.
 * @param counted The phases after the steps of the round: see countOrgPhases().
 */
export function decideOrgPhases(counted: OrgPhases, { now, nowMs }: Pick<Now, 'now' | 'nowMs'>): OrgPhasesChange {
  const { sizes, pending, failures, upgraded } = counted
  let { current } = counted
  const unchanged = { pending, failures, upgraded, hold: null }
  if (counted.hold !== null || counted.stopping !== null) return { ...unchanged, current }
  // A phase without targets passes immediately.
  while (current < sizes.length && isSettled(counted, current)) {
    const hold = findHold(counted, current, now)
    if (hold !== null) return { ...unchanged, current, hold: holdOf(hold, { now, nowMs }) }
    current += 1
  }
  return { ...unchanged, current }
}

function findHold(phases: OrgPhases, current: number, now: Date): (Wait & Pick<UpgradeHold, 'of'>) | null {
  const { of, sizes, gates, gatePassed, failures, upgraded } = phases
  const plan = { phase_sizes: sizes, gates }
  const reason = gatePassed >= current ? null : findHoldReason(current, { failures, upgraded }, plan, wordsOf(of))
  const hold = reason === null ? findWait(current, phases, now) : { by: 'gate' as const, reason }
  return hold && { ...hold, ...(of && { of }) }
}

/** Devices of earlier phases may have come back, so they count too. */
function isSettled({ pending }: OrgPhases, upTo: number): boolean {
  return Object.entries(pending).every(([phase, count]) => Number(phase) > upTo || count === 0)
}
