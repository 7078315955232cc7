import { identifyVersion } from '../../firmware/version-identity.ts'
import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
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
  /** The devices that other upgrades keep; see UpgradeInputs. */
  readonly busy: ReadonlyMap<string, string>
  readonly phases: PhasePlan<Candidate>
  /** The phases of the downloads; null: devices download in the phases of their reboots. */
  readonly downloads: PhasePlan<Candidate> | null
  readonly ranks: Ranks
}

/** A site whose devices have their places. */
export interface PlacedSite extends Pick<PlannedSite, 'upgradeId' | 'plans' | 'busy' | 'ranks'> {
  readonly reboots: Places
  /** Null: devices download in the phases of their reboots. */
  readonly loads: Places | null
}

/** Where the devices of a site are in its phases, by their index in the plans. Zero stands for nowhere. */
interface Places {
  readonly phases: Uint32Array
  readonly ordinals: Uint32Array
}

/** Reads the place of each device from the phases. The result is small: a map of a large fleet takes as much memory as its plans. */
export function* placeInSteps({ upgradeId, plans, busy, phases, downloads, ranks }: PlannedSite): Steps<PlacedSite> {
  const indexes = new Map<Candidate, number>()
  yield* visitInSteps(plans, ({ device }) => indexes.set(device, indexes.size))
  const reboots = yield* readPlacesInSteps(phases, indexes)
  const loads = downloads && (yield* readPlacesInSteps(downloads, indexes))
  return { upgradeId, plans, busy, ranks, reboots, loads }
}

function* readPlacesInSteps(plan: PhasePlan<Candidate>, indexes: ReadonlyMap<Candidate, number>): Steps<Places> {
  const places = { phases: new Uint32Array(indexes.size), ordinals: new Uint32Array(indexes.size) }
  yield* visitInSteps(placesOf(plan), ({ target, phase, ordinal }) => {
    const index = indexes.get(target)
    if (index === undefined) throw new Error(`The device ${target.mac} is in phase ${phase}, but not in the plan`)
    places.phases[index] = phase
    places.ordinals[index] = ordinal
  })
  return places
}

/**
 * Makes the targets of a site in the form to be written, one after the other in the order of `plans`, which is that of the ids of the
 * devices: so the indexes of targets get their entries one behind the other.
 */
export function* planTargets(
  { upgradeId, plans, busy, reboots, loads, ranks }: PlacedSite,
  { staged }: { readonly staged: boolean },
): Generator<NewTarget> {
  for (const [index, plan] of plans.entries()) {
    if (plan.kind === 'skip' && !busy.has(plan.device.id)) yield skippedTarget(upgradeId, plan)
    if (plan.kind !== 'upgrade') continue
    const place = placeAt(reboots, index)
    if (place === null) continue
    const downloadPhase = (loads && placeAt(loads, index)?.phase) ?? null
    const rank = ranks.get(plan.device.mac) ?? null
    yield { ...newTarget(upgradeId, plan), ...place, downloadPhase, rank, staged, state: 'planned' }
  }
}

/** @param plan Of a device that runs the version already. */
export function skippedTarget(upgradeId: string, plan: Upgradable): NewTarget {
  const nowhere = { phase: NO_PHASE, downloadPhase: null, rank: null, ordinal: 0, staged: false }
  return { ...newTarget(upgradeId, plan), ...nowhere, state: 'skipped' }
}

function placeAt({ phases, ordinals }: Places, index: number): Pick<NewTarget, 'phase' | 'ordinal'> | null {
  const [phase = 0, ordinal = 0] = [phases[index], ordinals[index]]
  return phase === 0 ? null : { phase, ordinal }
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
