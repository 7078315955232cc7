import { identifyVersion } from '../../firmware/version-identity.ts'
import type { Candidate, NewTarget } from '../../rollout/store-create.ts'
import { bindTarget } from './plan-hops.ts'
import type { DevicePlan } from './plan-org-upgrade.ts'
import type { PhasePlan } from './plan-phases.ts'
import type { Ranks } from '../uplinks/plan-ranks.ts'

export type Planned = DevicePlan<Candidate>

export type Upgradable = Extract<Planned, { readonly kind: 'upgrade' | 'skip' }>

/** A device with its firmware, in the form that the planning of phases needs. */
export type Selected = Upgradable & Candidate

/** The part of a site's plan that places its devices. */
export interface PlannedSite {
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly plans: readonly Planned[]
  readonly phases: PhasePlan<Selected>
  /** The phases of the downloads; null: devices download in the phases of their reboots. */
  readonly downloads: PhasePlan<Selected> | null
  readonly ranks: Ranks
}

/** Returns the targets of a site in the form to be written, and those that are skipped. */
export function planTargets({ upgradeId, plans, phases, downloads, ranks }: PlannedSite, staged: boolean): NewTarget[] {
  const downloadPhases = new Map(downloads?.targets.map(({ target, phase }) => [target, phase]))
  const skipped = plans.flatMap((plan) =>
    plan.kind === 'skip'
      ? [
          {
            ...newTarget(upgradeId, plan),
            phase: 0,
            downloadPhase: null,
            rank: null,
            ordinal: 0,
            staged: false,
            state: 'skipped' as const,
          },
        ]
      : [],
  )
  const planned = phases.targets.map(({ target, phase, ordinal }) => {
    const place = { phase, downloadPhase: downloadPhases.get(target) ?? null, ordinal }
    const rank = ranks.get(target.mac) ?? null
    return { ...newTarget(upgradeId, target), ...place, rank, staged, state: 'planned' as const }
  })
  return [...planned, ...skipped]
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
