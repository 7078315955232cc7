import type { Random } from './random.ts'

/** An upgrade of some sites. */
export interface PlannedRollout {
  /** Places in the list of sites. No other rollout that begins at the same time has one of them. */
  readonly sites: readonly number[]
  /** The body of the request, without sites and version. */
  readonly request: Request
}

type Request = Readonly<Record<string, unknown>> & { readonly device_type?: 'ap' }

/** Plans the rollouts that begin together, each time anew. */
export type PlanRollouts = (random: Random, sites: number) => readonly PlannedRollout[]

/** One rollout of all sites. */
export function onAllSites(request: Request): PlanRollouts {
  return (_random, sites) => [{ sites: Array.from({ length: sites }, (_, place) => place), request }]
}

/** At least one of each strategy. */
const requests: readonly Request[] = [
  { strategy: 'big_bang' },
  { strategy: 'serial' },
  { strategy: 'canary' },
  { strategy: 'canary', canary_phases: [30, 100], phase_scope: 'site' },
  { strategy: 'canary', canary_phases: [20, 60, 100], max_in_flight: 2 },
  { strategy: 'canary', canary_sites: [1] },
  { device_type: 'ap', reboot_strategy: 'rrm', rrm_first_batch_percentage: 50, rrm_max_batch_percentage: 50 },
]

/** Distributes the sites over `together` rollouts. Their requests differ, but repeat if there are more rollouts than requests. */
export function onSomeSites(together: number): PlanRollouts {
  return (random, sites) => {
    const places = random.shuffle(Array.from({ length: sites }, (_, place) => place))
    const chosen = random.shuffle(requests)
    return Array.from({ length: Math.min(together, sites) }, (_, index) => ({
      sites: places.filter((_place, turn) => turn % together === index),
      request: chosen[index % chosen.length] ?? {},
    }))
  }
}
