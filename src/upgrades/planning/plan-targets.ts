import { identifyVersion } from '../../firmware/version-identity.ts'
import type { Candidate, NewTarget } from '../../rollout/store-create.ts'
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

/** Makes the targets of a site in the form to be written, one after the other, and then those that are skipped. */
export function* planTargets(
  { upgradeId, plans, busy, phases, downloads, ranks }: PlannedSite,
  { staged }: { readonly staged: boolean },
): Generator<NewTarget> {
  const plansOf = plansByDevice(plans)
  const downloadPhases = new Map<Candidate, number>()
  if (downloads !== null) for (const { target, phase } of placesOf(downloads)) downloadPhases.set(target, phase)
  for (const { target, phase, ordinal } of placesOf(phases)) {
    const plan = plansOf.get(target)
    if (plan === undefined) throw new Error(`The device ${target.mac} is in a phase and not in the plan`)
    const place = { phase, downloadPhase: downloadPhases.get(target) ?? null, ordinal }
    const rank = ranks.get(target.mac) ?? null
    yield { ...newTarget(upgradeId, plan), ...place, rank, staged, state: 'planned' }
  }
  const none = { phase: 0, downloadPhase: null, rank: null, ordinal: 0, staged: false }
  for (const plan of plans)
    if (plan.kind === 'skip' && !busy.has(plan.device.id))
      yield { ...newTarget(upgradeId, plan), ...none, state: 'skipped' }
}

/** A map of a large fleet takes as much memory as its plans, so it is made for each loop over the targets, when the planning is over. */
function plansByDevice(plans: readonly Planned[]): ReadonlyMap<Candidate, Upgradable> {
  const byDevice = new Map<Candidate, Upgradable>()
  for (const plan of plans) if (plan.kind === 'upgrade') byDevice.set(plan.device, plan)
  return byDevice
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
