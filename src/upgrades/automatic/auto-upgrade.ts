import { type AutoUpgrade, nextAutoUpgrade } from '../../orgs/windows/auto-upgrade.ts'
import { type MaintenanceWindow, findOpening } from '../../orgs/windows/windows.ts'
import { findZone, utcZone } from '../planning/plan-start.ts'

/** The automatic upgrades of a site. */
export interface AutoUpgradeSite {
  readonly siteId: string
  /** The name of an IANA zone, or of none. */
  readonly timezone: string
  /** The setting of the site, or else of its organization. */
  readonly rule: AutoUpgrade
  /** Stands for the setting in comparisons. */
  readonly ruleHash: string
  /** When they are due; null: the time must be computed, because the setting or the zone is new, or the clock was set back. */
  readonly dueAt: Date | null
  /** The last time. Null, as are the next two members: there was none with this setting. */
  readonly ranAt: Date | null
  /** The last site upgrade that began. */
  readonly upgradeId: string | null
  /** Why none began the last time. */
  readonly reason: string | null
}

/** The automatic upgrades of a site for people. */
export interface AutoUpgradeState {
  /** Null: they are turned off. */
  readonly nextAt: Date | null
  readonly lastAt: Date | null
  /** The last site upgrade that began. */
  readonly upgradeId: string | null
  /** Why none began the last time. */
  readonly reason: string | null
}

/** Returns when the automatic upgrades of a site are due after an instant. */
export function nextTimeOf({ rule, timezone }: Pick<AutoUpgradeSite, 'rule' | 'timezone'>, after: Date): Date {
  return nextAutoUpgrade(rule, zoneOf(timezone), after)
}

/** True if one of the windows of the site is open in this time. */
export function opensBefore(
  { timezone }: Pick<AutoUpgradeSite, 'timezone'>,
  windows: readonly MaintenanceWindow[],
  { from, endsAt }: { readonly from: Date; readonly endsAt: Date },
): boolean {
  const opensMs = findOpening(windows, zoneOf(timezone), { fromMs: from.getTime(), needMs: 0 })
  return opensMs !== null && opensMs < endsAt.getTime()
}

function zoneOf(timezone: string): string {
  return (findZone(timezone) ?? utcZone).name
}
