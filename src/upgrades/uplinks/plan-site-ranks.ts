import type { DeviceType } from '../../events/device-type.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import { type CabledDevice, type Ranks, planRanks } from './plan-ranks.ts'

interface RankedDevice {
  readonly mac: string
  readonly type: DeviceType
  readonly siteId: string
}

/** By MAC; each site has its own order. */
export function planSiteRanks(
  sites: readonly { readonly targets: readonly RankedDevice[] }[],
  cabled: readonly CabledDevice[],
): Ranks {
  const bySite = Map.groupBy(cabled, ({ siteId }) => siteId)
  return new Map(sites.flatMap(({ targets }) => [...planRanks(targets, bySite.get(targets[0]?.siteId ?? '') ?? [])]))
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
  return [{ reason: `Devices restart before those that they hang on: ${steps.join(', then ')}` }]
}
