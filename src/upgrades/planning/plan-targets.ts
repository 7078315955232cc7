import { identifyVersion } from '../../firmware/version-identity.ts'
import { NO_PHASE } from '../../rollout/rollout.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import type { NewTarget } from '../../rollout/store-create.ts'
import { bindTarget } from './plan-hops.ts'
import type { DevicePlan } from './plan-org-upgrade.ts'
import { type PhasePlan, placesOf } from './plan-phases.ts'
import type { Ranks } from '../uplinks/plan-ranks.ts'

export type Planned = DevicePlan<Candidate>

type Upgradable = Extract<Planned, { readonly kind: 'upgrade' | 'skip' }>

/** The part of a site's plan that places its devices. */
export interface PlannedSite {
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly plans: readonly Planned[]
  /** Ids of the devices that other upgrades keep. */
  readonly busy: ReadonlySet<string>
  readonly phases: PhasePlan<Candidate>
  /** The phases of the downloads; null: devices download in the phases of their reboots. */
  readonly downloads: PhasePlan<Candidate> | null
  readonly ranks: Ranks
}

/**
 * Makes the targets of a site in the form to be written, one after the other in the order of `plans`, which is that of the ids of the
 * devices: so the indexes of targets get their entries one behind the other.
 */
export function* planTargets(
  { upgradeId, plans, busy, phases, downloads, ranks }: PlannedSite,
  { staged }: { readonly staged: boolean },
): Generator<NewTarget> {
  const places = readPlaces(phases)
  const downloadPlaces = downloads && readPlaces(downloads)
  const none = { phase: NO_PHASE, downloadPhase: null, rank: null, ordinal: 0, staged: false }
  let placed = 0
  for (const plan of plans) {
    if (plan.kind === 'skip' && !busy.has(plan.device.id))
      yield { ...newTarget(upgradeId, plan), ...none, state: 'skipped' }
    if (plan.kind !== 'upgrade') continue
    const { device } = plan
    const place = places.find(device)
    if (place === null) continue
    placed += 1
    const downloadPhase = downloadPlaces?.find(device)?.phase ?? null
    const rank = ranks.get(device.mac) ?? null
    yield { ...newTarget(upgradeId, plan), ...place, downloadPhase, rank, staged, state: 'planned' }
  }
  if (placed < places.count) throw new Error(`Only ${placed} of ${places.count} devices in phases are in the plan`)
}

interface Places {
  readonly count: number
  find(device: Candidate): { readonly phase: number; readonly ordinal: number } | null
}

/** A map of a large fleet takes as much memory as its plans, so it is made for each loop over the targets, when the planning is over. */
function readPlaces(plan: PhasePlan<Candidate>): Places {
  const ordinals = new Map<Candidate, number>()
  const phaseOf = [0]
  for (const { target, phase, ordinal } of placesOf(plan)) {
    ordinals.set(target, ordinal)
    phaseOf.push(phase)
  }
  return {
    count: ordinals.size,
    find(device) {
      const ordinal = ordinals.get(device)
      return ordinal === undefined ? null : { phase: phaseOf[ordinal] ?? 0, ordinal }
    },
  }
}

function newTarget(
  upgradeId: string,
  { device, entry, force, via }: Upgradable,
): Omit<NewTarget, 'phase' | 'downloadPhase' | 'rank' | 'ordinal' | 'staged' | 'state'> {
  return {
    upgradeId,
    deviceId: device.id,
    mac: device.mac,
    model: device.model,
    // Under its name in the catalog, so that a device which installs its own version again is recognized as doing so.
    fromVersion: device.fromVersion && identifyVersion(device.fromVersion, [entry]),
    ...bindTarget(entry, via),
    force,
  }
}
