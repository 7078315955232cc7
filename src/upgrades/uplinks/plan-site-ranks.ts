import type { DeviceType } from '../../events/device-type.ts'
import { type Steps, atOnce } from '../../platform/queues/next-turn.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import { type CabledDevice, type Ranks, planRanks } from './plan-ranks.ts'

interface RankedDevice {
  readonly mac: string
  readonly type: DeviceType
  readonly siteId: string
}

type RankedSites = readonly { readonly targets: readonly RankedDevice[] }[]

/** By MAC; each site has its own order. */
export function* planSiteRanksInSteps(sites: RankedSites, cabled: readonly CabledDevice[]): Steps<Ranks> {
  const bySite = Map.groupBy(cabled, ({ siteId }) => siteId)
  const ranks = new Map<string, number>()
  for (const { targets } of sites) {
    const ofSite = planRanks(targets, bySite.get(targets[0]?.siteId ?? '') ?? [])
    for (const [mac, rank] of ofSite) ranks.set(mac, rank)
    yield
  }
  return ranks
}

/** Does the same as planSiteRanksInSteps() without a pause. */
export function planSiteRanks(sites: RankedSites, cabled: readonly CabledDevice[]): Ranks {
  return atOnce(planSiteRanksInSteps(sites, cabled))
}

/** Notes the order in which the devices of a site restart. */
export function noteRanks(devices: readonly Pick<RankedDevice, 'mac' | 'type'>[], ranks: Ranks): UpgradeNote[] {
  const byRank = Map.groupBy(devices, ({ mac }) => ranks.get(mac) ?? 0)
  if (byRank.size < 2) return []
  const steps = [...byRank]
    .toSorted(([a], [b]) => a - b)
    .map(([, some]) => {
      const types = Map.groupBy(some, ({ type }) => type)
      return [...types].map(([type, { length }]) => `${length} of the type ${type}`).join(' and ')
    })
  return [{ reason: `Devices restart before those that they depend on: ${steps.join(', then ')}` }]
}
