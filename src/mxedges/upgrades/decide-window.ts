import { findClosing } from '../../orgs/windows/windows.ts'
import { beginsWithin } from '../../rollout/targets/steps/decide-window.ts'
import type { MxedgeUpgradeOptions, TargetRules } from './target.ts'
import type { MxedgeStep, MxedgeUpgradePlan, PlaceWindows } from './upgrade.ts'

/**
 * Returns how long an appliance may take to install the steps: during each it may be away for the step's time limit.
 */
export function installMs(
  steps: readonly MxedgeStep[],
  { reconnectMs }: Pick<MxedgeUpgradeOptions, 'reconnectMs'>,
): number {
  return steps.reduce((sum, step) => sum + ('distro' in step ? reconnectMs.distro : reconnectMs.service), 0)
}

type Plan = Pick<MxedgeUpgradePlan, 'windows'>

/** Returns a function that finds the windows of the site at which an appliance was when the upgrade was planned. */
export function windowsFinder({ windows = [] }: Plan): (plannedSiteId: string | null) => PlaceWindows | null {
  const bySite = new Map(windows.map((place) => [place.site_id, place]))
  return (plannedSiteId) => bySite.get(plannedSiteId) ?? null
}

/** Returns a function that finds TargetRules.beginMs for an appliance, by its planned site. */
export function beginsFinder(
  plan: Plan,
  at: { readonly now: Date; readonly nowMs: number },
): (plannedSiteId: string | null) => TargetRules['beginMs'] {
  const find = windowsFinder(plan)
  const known = new Map<string | null, TargetRules['beginMs']>()
  return (plannedSiteId) => {
    const begins = known.get(plannedSiteId) ?? beginsWithin(find(plannedSiteId) ?? { timezone: 'UTC' }, at)
    known.set(plannedSiteId, begins)
    return begins
  }
}

/**
 * Returns the last instant at which a command may be sent in the window that is open; null: any.
 * @param needMs How long the appliance may take to end in it.
 */
export function sendBy(place: PlaceWindows | null, now: Date, needMs: number): Date | null {
  const closesMs = place === null ? null : findClosing(place.windows, place.timezone, now.getTime())
  return closesMs === null ? null : new Date(closesMs - needMs)
}
