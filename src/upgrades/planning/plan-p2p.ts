import { counted } from '../../platform/counted.ts'
import { invalidField } from '../../platform/errors.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { RequestedP2p } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'

/** The default of `p2p_cluster_size`. Source: spec, "Organization device upgrade request". */
export const DEFAULT_CLUSTER_SIZE = 10

/** The batches in which the access points of a site download. */
export interface P2pBatches {
  readonly batches: number
  readonly size: number
  /** The number of batches that download at the same time. */
  readonly parallel: number
  /** The number of devices that download at the same time; null: no limit. */
  readonly maxDownloads: number | null
}

/** Source: spec, "Organization device upgrade request". */
export function planP2p({ clusterSize, parallelism }: RequestedP2p, accessPoints: number): P2pBatches {
  const size = clusterSize === 0 ? accessPoints : clusterSize
  const parallel = parallelism ?? (accessPoints <= 50 ? 1 : accessPoints <= 100 ? 3 : 10)
  const batches = size === 0 ? 0 : Math.ceil(accessPoints / size)
  return { batches, size, parallel, maxDownloads: batches <= parallel ? null : size * parallel }
}

/** @throws AppError invalid if peer-to-peer downloads are requested, and none of the devices is an access point. */
export function refuseP2p({ isEnabled }: RequestedP2p, plans: readonly DevicePlan<UpgradeDevice>[]): void {
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const [first] = upgraded
  if (!isEnabled || first === undefined || upgraded.some(({ device }) => device.type === 'ap')) return
  const { mac, type } = first.device
  throw invalidField(
    'enable_p2p',
    `is true, which is for access points only, and none of the ${upgraded.length} devices is one, for example ${mac} (${type})`,
  )
}

/** Returns a note if the batches are described and have no effect. */
export function noteUnusedP2p({ isEnabled, clusterSize, parallelism }: RequestedP2p): UpgradeNote[] {
  if (isEnabled || (clusterSize === DEFAULT_CLUSTER_SIZE && parallelism === null)) return []
  return [{ reason: 'p2p_cluster_size and p2p_parallelism have no effect without enable_p2p' }]
}

/** Returns the note about batches in the record of a site. No device can download from another one. */
export function noteP2p({ batches, size, parallel, maxDownloads }: P2pBatches): UpgradeNote[] {
  if (batches === 0) return []
  const limit = maxDownloads === null ? 'all at once' : `so at most ${maxDownloads} devices at once`
  const what = `${counted(batches, 'batch', 'batches')} of at most ${counted(size, 'access point')}, ${counted(parallel, 'batch', 'batches')} at a time, ${limit}`
  return [
    { reason: `Downloads in ${what}; each device downloads from the service, because none offers its image to others` },
  ]
}
