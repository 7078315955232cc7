import { counted } from '../../platform/counted.ts'
import type { AutoUpgrade } from '../../orgs/windows/auto-upgrade.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { rrm } from '../strategies/rrm.ts'
import { automaticRequest } from './automatic-request.ts'
import type { VersionsByModel } from './tables.ts'

/** A server that was down at the time begins an upgrade so much later at most. Source: the published interface says "within an hour". */
export const LATE_MS = 3600e3

/** A site with its setting, and the access points that are upgraded. */
export interface WantedUpgrade {
  readonly siteId: string
  readonly rule: AutoUpgrade
  readonly deviceIds: ReadonlySet<string>
  /** Shortly before the next one. */
  readonly endsAt: Date
}

/** Returns the request that carries out the setting. */
export function requestOf({ rule, ...wanted }: WantedUpgrade): UpgradeRequest {
  const { version = 'stable', custom_versions: ofModels = {} } = rule
  return automaticRequest({
    ...wanted,
    kind: 'device',
    type: 'ap',
    version: version === 'custom' ? null : version,
    ofModels,
    snapshot: false,
    strategy: { name: rrm.name, phasing: rrm.parse({}) },
    setting: 'auto_upgrade',
  })
}

/** What is planned for the devices of a site. */
export interface PlannedDevices {
  readonly plans: readonly Planned[]
  /** Ids of the devices that other upgrades keep. */
  readonly busy: ReadonlySet<string>
}

/** Returns the versions that devices get, by model. */
export function versionsOf({ plans, busy }: PlannedDevices): VersionsByModel {
  return Object.fromEntries(
    plans.flatMap((plan) =>
      plan.kind === 'upgrade' && !busy.has(plan.device.id) ? [[plan.device.model, plan.entry.version]] : [],
    ),
  )
}

/** Why nothing begins at a site without connected access points. */
export const NO_DEVICE = 'no access point is connected'

/** Reasons are shown to people, who need no list of all models. */
const MAX_REASONS = 3

/**
 * Returns why no upgrade begins; null: it begins.
 * @param failed The versions of the last one if it has failed: the same ones would fail again, at each time.
 */
export function findIdleReason(planned: PlannedDevices, failed: VersionsByModel | null): string | null {
  const { plans, busy } = planned
  if (plans.length === 0) return NO_DEVICE
  const versions = Object.entries(versionsOf(planned))
  if (versions.length > 0) {
    const isRepeated = failed !== null && versions.every(([model, version]) => failed[model] === version)
    return isRepeated ? 'the last one failed, and the versions are the same' : null
  }
  if (busy.size > 0) return `other upgrades have ${counted(busy.size, 'access point')}`
  const reasons = new Set(plans.flatMap((plan) => (plan.kind === 'leave_out' ? [plan.reason] : [])))
  if (reasons.size === 0) return 'each connected access point runs its version'
  return [...reasons].slice(0, MAX_REASONS).join('; ')
}
