import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import type { MxedgeStep, MxedgeUpgradeNote, MxedgeUpgradePlan } from '../../mxedges/upgrades/upgrade.ts'
import { epochS } from '../../platform/time/clock.ts'
import { NO_PHASE } from '../../rollout/rollout.ts'
import { planAtOnce } from '../planning/plan-phases.ts'
import type { TargetFacts } from '../strategies/strategy.ts'
import type { PlannedSteps } from './plan-steps.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/** An appliance and its planned steps. */
export interface PlannedMxedge extends PlannedSteps {
  readonly appliance: Candidate
}

export interface PlannedTarget {
  readonly appliance: Candidate
  readonly steps: readonly MxedgeStep[]
  /** From 1; 0: it is skipped. */
  readonly phase: number
  /** From 1; 0: it is skipped. */
  readonly wave: number
  /** Its position in the plan, from 1. */
  readonly ordinal: number
  /** Why it is skipped; null: it is upgraded. */
  readonly reason: string | null
}

export interface MxedgePlan {
  readonly plan: MxedgeUpgradePlan
  readonly targets: readonly PlannedTarget[]
  readonly notes: readonly MxedgeUpgradeNote[]
}

type PlannedRequest = Pick<MxedgeUpgradeRequest, 'strategy' | 'phasing' | 'startGate' | 'endsAt' | 'notes'>

/**
 * Puts the appliances into phases by the strategy of the request, and into waves within a phase, so that no two members
 * of a cluster are in one wave.
 * @param upgradeId The same id and appliances give the same plan.
 */
export function planMxedgeUpgrade(
  { strategy, phasing, startGate, endsAt, notes }: PlannedRequest,
  planned: readonly PlannedMxedge[],
  upgradeId: string,
): MxedgePlan {
  const chosen = planned.filter(({ steps }) => steps.length > 0)
  const phases = planAtOnce(phasing, chosen.map(factsOf), { upgradeId }).map(intoWaves)
  const gates = phases.map((_, index) => phasing.gate(index + 1))
  const ordered = phases.flatMap((targets, index) =>
    targets.map((target) => Object.assign(target, { phase: index + 1 })),
  )
  const targets = ordered.map(({ facts, phase, wave }, index): PlannedTarget => {
    const { appliance, steps } = facts.planned
    return { appliance, steps, phase, wave, ordinal: index + 1, reason: null }
  })
  const skipped = planned
    .filter(({ steps }) => steps.length === 0)
    .map(({ appliance, reasons }, index): PlannedTarget => {
      const ordinal = targets.length + index + 1
      return { appliance, steps: [], phase: NO_PHASE, wave: 0, ordinal, reason: skipReasonOf(reasons) }
    })
  return {
    plan: {
      strategy,
      phases: phases.length,
      phase_sizes: phases.map(({ length }) => length),
      gates: gates.some((gate) => gate !== null) ? gates : null,
      ...(startGate !== null && { start_gate: startGate }),
      ...(phasing.percents !== null && { online_first: true as const }),
      max_failure_percentage: phasing.maxFailurePercentage,
      planned: chosen.length,
      ...(endsAt !== null && { ends_s: epochS(endsAt) }),
    },
    targets: [...targets, ...skipped],
    notes: [...notes, ...phasing.notes, ...skipped.map(noteSkipped), ...chosen.flatMap(noteServices)],
  }
}

/** Returns why an appliance without steps is skipped. */
export function skipReasonOf(reasons: readonly string[]): string {
  return reasons.join('; ') || 'every service stays at its current version'
}

export function noteSkipped({
  appliance: { id, upgradeId },
  reason,
}: Pick<PlannedTarget, 'appliance' | 'reason'>): MxedgeUpgradeNote {
  const note = { mxedge_id: id, reason: `skipped: ${reason}` }
  return upgradeId === null ? note : { ...note, kind: 'in_another_upgrade' }
}

/** Notes which requested services of an appliance stay at their current versions while others are upgraded. */
export function noteServices({ appliance, reasons }: PlannedMxedge): MxedgeUpgradeNote[] {
  return reasons.map((reason) => ({ mxedge_id: appliance.id, reason }))
}

interface Facts extends TargetFacts {
  readonly planned: PlannedMxedge
}

function factsOf(planned: PlannedMxedge): Facts {
  const { id, mac, model, siteId, connected } = planned.appliance
  const fromVersion = JSON.stringify(planned.steps.map(({ from }) => from))
  const facts = { mac: mac ?? id, model, connected, fromVersion, siteId: siteId ?? '', role: null, memberVersions: [] }
  return { ...facts, type: 'mxedge', planned }
}

/** In the order of the waves; within a wave the order does not change. */
function intoWaves(targets: readonly Facts[]): { readonly facts: Facts; readonly wave: number }[] {
  const members = new Map<string, number>()
  const placed = targets.map((facts) => {
    const { clusterId } = facts.planned.appliance
    if (clusterId === null) return { facts, wave: 1 }
    const wave = (members.get(clusterId) ?? 0) + 1
    members.set(clusterId, wave)
    return { facts, wave }
  })
  return placed.toSorted((a, b) => a.wave - b.wave)
}
