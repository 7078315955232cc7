import { type Steps, atOnce } from '../../platform/queues/next-turn.ts'
import type { OrgPhasePlan, PhaseGate } from '../../rollout/rollout.ts'
import type { Phasing, PlanFacts, TargetFacts } from '../strategies/strategy.ts'

export interface SiteTargets<T> {
  /** The id of the site upgrade. */
  readonly upgradeId: string
  /** All of the same site. */
  readonly targets: readonly T[]
}

export interface PlacedTarget<T> {
  readonly target: T
  /** From 1. */
  readonly phase: number
  /** Its position among the targets of the site upgrade, from 1. */
  readonly ordinal: number
}

/** The phases of a site upgrade. */
export interface PhasePlan<T> {
  /** The targets of each phase, including empty ones, in the order of their upgrades. See placesOf(). */
  readonly phases: readonly (readonly T[])[]
  /** By phase; null: there are no gates between the phases, or they are those of the whole upgrade. */
  readonly gates: OrgPhasePlan['gates']
}

export interface UpgradePhases<T> {
  /** Null: each site has its own phases. */
  readonly org: OrgPhasePlan | null
  /** By the id of the site upgrade. */
  readonly bySite: ReadonlyMap<string, PhasePlan<T>>
}

/**
 * Puts the targets of all sites into phases. With the scope `org` the phases are those of the whole upgrade, so that 1 %
 * of 500 sites with ten devices each is 50 devices, not one at every site; each site then has every phase, though it may
 * be empty there.
 *
 * @param facts With the `upgradeId` of the organization's upgrade: the same id and targets give the same plan.
 */
export function* planPhasesInSteps<T extends TargetFacts>(
  sites: readonly SiteTargets<T>[],
  { phasing, ...facts }: PlanFacts & { readonly phasing: Phasing },
): Steps<UpgradePhases<T>> {
  const bySite = new Map<string, PhasePlan<T>>()
  if (phasing.scope === 'site') {
    for (const { upgradeId, targets } of sites) {
      const phases = yield* phasing.planInSteps(targets, facts)
      bySite.set(upgradeId, { phases, gates: gatesOf(phasing, phases.length) })
      yield
    }
    return { org: null, bySite }
  }
  const all = sites.flatMap(({ targets }) => targets)
  yield
  const phases = yield* phasing.planInSteps(all, facts)
  yield
  const parts: Map<string, T[]>[] = []
  for (const targets of phases) {
    parts.push(Map.groupBy(targets, ({ siteId }) => siteId))
    yield
  }
  for (const { upgradeId, targets } of sites) {
    const siteId = targets[0]?.siteId ?? ''
    const mine = parts.map((part) => part.get(siteId) ?? [])
    bySite.set(upgradeId, { phases: mine, gates: null })
    yield
  }
  const sizes = sizesOf({ phases })
  return { org: { phase_sizes: sizes, gates: gatesOf(phasing, sizes.length) }, bySite }
}

/** Puts each target into a phase, as Phasing.planInSteps() does, without a pause. */
export function planAtOnce<T extends TargetFacts>(
  phasing: Pick<Phasing, 'planInSteps'>,
  targets: readonly T[],
  facts: PlanFacts,
): readonly (readonly T[])[] {
  return atOnce(phasing.planInSteps(targets, facts))
}

/** The phases of a site that has no target yet, of an upgrade with the phases `org` of all sites. */
export function emptyPhases<T extends TargetFacts>(
  org: OrgPhasePlan | null,
  { phasing, ...facts }: PlanFacts & { readonly phasing: Phasing },
): PhasePlan<T> {
  if (org !== null) return { phases: org.phase_sizes.map(() => []), gates: null }
  const phases = planAtOnce<T>(phasing, [], facts)
  return { phases, gates: gatesOf(phasing, phases.length) }
}

type Phases<T> = Pick<PhasePlan<T>, 'phases'>

/** Places each target, one after the other in the order of their upgrades. */
export function* placesOf<T>({ phases }: Phases<T>): Generator<PlacedTarget<T>> {
  let ordinal = 0
  for (const [index, targets] of phases.entries()) {
    for (const target of targets) {
      ordinal += 1
      yield { target, phase: index + 1, ordinal }
    }
  }
}

/** Returns the number of targets of each phase. */
export function sizesOf({ phases }: Phases<unknown>): number[] {
  return phases.map(({ length }) => length)
}

/** Returns the number of targets. */
export function countPlaced({ phases }: Phases<unknown>): number {
  return phases.reduce((sum, { length }) => sum + length, 0)
}

/** Null if no phase has a gate: a serial upgrade has as many phases as devices. */
function gatesOf(phasing: Phasing, phases: number): readonly (PhaseGate | null)[] | null {
  const gates = Array.from({ length: phases }, (_, index) => phasing.gate(index + 1))
  return gates.some((gate) => gate !== null) ? gates : null
}
