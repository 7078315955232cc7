import type { Orderable } from './plan-order.ts'
import { type PhaseOptions, type PhasePlan, type PlacedTarget, planPhases } from './plan-phases.ts'
import type { PhaseScope } from '../rollout/rollout.ts'

export interface SiteTargets<T> {
  /** Of the site upgrade. */
  readonly upgradeId: string
  readonly targets: readonly T[]
}

export interface OrgPhaseOptions extends PhaseOptions {
  readonly phaseScope: PhaseScope
}

export interface OrgPhasePlan<T> {
  /** How many targets each phase has at all sites together; null: each site has phases of its own. */
  readonly sizes: readonly number[] | null
  /** By the id of the site upgrade. Every site has every phase of the whole upgrade, though it may be empty there. */
  readonly bySite: ReadonlyMap<string, PhasePlan<T>>
}

/**
 * Puts the targets of all sites into phases. With the scope `org`, canary phases are shares of the whole upgrade, so
 * that 1 % of 500 sites with ten devices each is 50 devices, not one at every site. Serial phases, and those of the
 * scope `site`, are of each site alone.
 *
 * @param options `upgradeId` is that of the organization's upgrade: the same id and targets give the same plan.
 */
export function planOrgPhases<T extends Orderable>(
  sites: readonly SiteTargets<T>[],
  options: OrgPhaseOptions,
): OrgPhasePlan<T> {
  if (options.phaseScope === 'site' || options.strategy !== 'canary') {
    const plan = ({ upgradeId, targets }: SiteTargets<T>) => planPhases(targets, { ...options, upgradeId })
    return { sizes: null, bySite: new Map(sites.map((site) => [site.upgradeId, plan(site)])) }
  }
  const all = sites.flatMap(({ upgradeId, targets }) =>
    targets.map((target) => ({ ...orderOf(target), upgradeId, target })),
  )
  const { sizes, targets } = planPhases(all, options)
  const placed = Map.groupBy(targets, ({ target }) => target.upgradeId)
  const bySite = new Map(
    sites.map(({ upgradeId }) => {
      const mine = (placed.get(upgradeId) ?? []).map(({ target, phase }, index) => {
        return { target: target.target, phase, ordinal: index + 1 }
      })
      return [upgradeId, { sizes: countPhases(mine, sizes.length), targets: mine }]
    }),
  )
  return { sizes, bySite }
}

function orderOf({ mac, model, fromVersion, connected }: Orderable): Orderable {
  return { mac, model, fromVersion, connected }
}

function countPhases(targets: readonly Pick<PlacedTarget<unknown>, 'phase'>[], phases: number): number[] {
  const sizes = Array.from({ length: phases }, () => 0)
  for (const { phase } of targets) sizes[phase - 1] = (sizes[phase - 1] ?? 0) + 1
  return sizes
}
