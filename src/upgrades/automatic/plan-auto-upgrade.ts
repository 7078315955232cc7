import { counted } from '../../platform/counted.ts'
import type { AutoUpgrade } from '../../orgs/windows/auto-upgrade.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { rrm } from '../strategies/rrm.ts'
import { automaticRequest } from './automatic-request.ts'
import type { HeldPlan } from './decide-held.ts'

/** How late a server that was down may begin an upgrade. Source: the published interface says "within an hour". */
export const LATE_MS = 3600e3

/** A site with its setting, and the access points that are upgraded. */
export interface WantedUpgrade {
  readonly siteId: string
  readonly rule: AutoUpgrade
  readonly deviceIds: ReadonlySet<string>
  /** Shortly before the next one. */
  readonly endsAt: Date
  /** The devices that keep their version, although the setting has another one for them. */
  readonly held: readonly HeldPlan[]
}

/** Returns the request that carries out the setting. */
export function requestOf({ siteId, rule, deviceIds, endsAt, held }: WantedUpgrade): UpgradeRequest {
  const { version = 'stable', custom_versions: ofModels = {} } = rule
  const heldIds = new Set(held.map(({ device }) => device.id))
  return automaticRequest({
    kind: 'device',
    siteId,
    deviceIds: deviceIds.difference(heldIds),
    type: 'ap',
    version: version === 'custom' ? null : version,
    ofModels,
    snapshot: false,
    strategy: { name: rrm.name, phasing: rrm.parse({}) },
    endsAt,
    setting: 'auto_upgrade',
    reasons: reasonsOf(held),
  })
}

/** What is planned for the devices of a site. */
export interface PlannedDevices {
  readonly plans: readonly Planned[]
  /** The devices that other upgrades keep. */
  readonly busy: ReadonlyMap<string, string>
}

/** Why nothing begins at a site without connected access points. */
export const NO_DEVICE = 'no access point is connected'

/** Reasons are shown to people, who need no list of all models. */
const MAX_REASONS = 3

/** Returns why no upgrade begins; null: it begins. */
export function findIdleReason({ plans, busy }: PlannedDevices): string | null {
  if (plans.length === 0) return NO_DEVICE
  if (plans.some(({ kind, device }) => kind === 'upgrade' && !busy.has(device.id))) return null
  if (busy.size > 0) return `other upgrades have ${counted(busy.size, 'access point')}`
  const reasons = reasonsOf(plans)
  return reasons.length === 0
    ? 'each connected access point runs its version'
    : reasons.slice(0, MAX_REASONS).join('; ')
}

function reasonsOf(plans: readonly Planned[]): string[] {
  return [...new Set(plans.flatMap((plan) => (plan.kind === 'leave_out' ? [plan.reason] : [])))]
}
