import { type Step, commandedStates } from '../rounds/decide-step.ts'
import { type TargetCounts, type TargetState, inFlightStates, isInFlight } from '../rollout.ts'
import type { TargetDecision, TargetNow } from '../targets/target.ts'

/** The limits of an organization's whole upgrade. Null: no such limit. */
export interface OrgLimits {
  /** Devices that are commanded and have not ended, at all sites together. */
  readonly maxInFlight: number | null
  /** Devices that download, at all sites together. */
  readonly maxDownloads: number | null
  readonly maxDownloadsPerSite: number | null
  /** The number of hard failures at all sites together beyond which the upgrade stops. */
  readonly failureBudget: number | null
}

/** The numbers of devices in use at present. */
export interface DevicesInUse {
  readonly inFlight: number
  readonly downloads: number
}

/** The number of further devices that may begin; infinite without a limit. */
export type Capacity = DevicesInUse

export const unlimited: Capacity = { inFlight: Infinity, downloads: Infinity }

const isDownload = (state: TargetState): boolean => state === 'dl_requested' || state === 'downloading'

/** Returns how many devices of a site upgrade are in flight and download. */
export function countInUse(counts: TargetCounts): DevicesInUse {
  return {
    inFlight: inFlightStates.reduce((sum, state) => sum + counts[state], 0),
    downloads: inFlightStates.filter(isDownload).reduce((sum, state) => sum + counts[state], 0),
  }
}

/** Returns how many more devices of a site may begin, in addition to those in use at all sites. */
export function findCapacity(limits: OrgLimits, everywhere: DevicesInUse, here: DevicesInUse): Capacity {
  const { maxInFlight, maxDownloads, maxDownloadsPerSite } = limits
  const left = (limit: number | null, used: number): number => (limit === null ? Infinity : Math.max(0, limit - used))
  const downloads = Math.min(left(maxDownloads, everywhere.downloads), left(maxDownloadsPerSite, here.downloads))
  return { inFlight: left(maxInFlight, everywhere.inFlight), downloads }
}

/**
 * Adds the devices that begin in a round. Devices that end in it are not subtracted: the next round uses the freed
 * capacity, so that no committed state exceeds a limit.
 */
export function addBegun(inUse: DevicesInUse, steps: readonly Step[]): DevicesInUse {
  return {
    inFlight: inUse.inFlight + steps.filter(({ target, to }) => isInFlight(to) && !isInFlight(target.state)).length,
    downloads: inUse.downloads + steps.filter(({ target, to }) => isDownload(to) && !isDownload(target.state)).length,
  }
}

/** Limits the devices that begin to the capacity, in the order of the plan; the others wait. */
export function limitToCapacity<D extends { readonly target: TargetNow; readonly decision: TargetDecision }>(
  decided: readonly D[],
  capacity: Capacity,
): readonly (Omit<D, 'decision'> & Pick<D, 'decision'>)[] {
  let { inFlight, downloads } = capacity
  if (inFlight === Infinity && downloads === Infinity) return decided
  return decided.map((one) => {
    const { target, decision } = one
    if (decision.kind !== 'command') return one
    const begins = !isInFlight(target.state)
    const loads = isDownload(commandedStates[decision.order]) && !isDownload(target.state)
    if ((begins && inFlight <= 0) || (loads && downloads <= 0))
      return Object.assign({}, one, { decision: { kind: 'wait' } as const })
    inFlight -= Number(begins)
    downloads -= Number(loads)
    return one
  })
}
