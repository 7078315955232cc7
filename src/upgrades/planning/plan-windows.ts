import { type MaintenanceWindow, describeWindows, longestMs } from '../../orgs/windows/windows.ts'
import { rebootTimeoutMs } from '../../rollout/targets/steps/decide-window.ts'
import { type UpgradeNote, defaultRolloutOptions } from '../../rollout/rollout.ts'
import type { RequestedPart, UpgradeRequest } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'
import type { SiteTimes } from './plan-times.ts'

/** The maintenance windows of the sites' settings, by site. */
export type SiteWindows = ReadonlyMap<string, readonly MaintenanceWindow[]>

/** Adds the maintenance windows of the request, or of each site where it names none, to the times of the sites. */
export function addWindows(
  { windows }: Pick<UpgradeRequest, 'windows'>,
  times: ReadonlyMap<string, SiteTimes>,
  ofSites: SiteWindows,
): Map<string, SiteTimes> {
  return new Map(
    [...times].map(([siteId, known]): [string, SiteTimes] => {
      const ofSite = ofSites.get(siteId) ?? []
      const chosen = windows ?? ofSite
      const notes = noteWindows(chosen, { ofSite, timezone: known.timezone, isRequested: windows !== null })
      return [siteId, { ...known, windows: chosen, warnings: [...known.warnings, ...notes] }]
    }),
  )
}

function noteWindows(
  windows: readonly MaintenanceWindow[],
  {
    ofSite,
    timezone,
    isRequested,
  }: { readonly ofSite: readonly MaintenanceWindow[]; readonly timezone: string; readonly isRequested: boolean },
): UpgradeNote[] {
  const source = isRequested ? 'of the request' : "of the site's settings"
  if (windows.length > 0)
    return [
      { reason: `Devices begin only in the maintenance windows ${source}: ${describeWindows(windows)} (${timezone})` },
    ]
  if (ofSite.length === 0) return []
  return [{ reason: `The maintenance windows of the site's settings do not apply: ${describeWindows(ofSite)}` }]
}

/** Leaves out the devices for which no maintenance window of their site is long enough. */
export function limitToWindows<D extends UpgradeDevice & { readonly siteId: string }>(
  { only }: { readonly only: Pick<RequestedPart, 'part'> | null },
  plans: readonly DevicePlan<D>[],
  times: ReadonlyMap<string, Pick<SiteTimes, 'windows'>>,
): readonly DevicePlan<D>[] {
  // A download only has to begin within a window.
  if (only?.part === 'stage') return plans
  const lengths = new Map([...times].map(([siteId, { windows }]) => [siteId, lengthOf(windows)]))
  if ([...lengths.values()].every((lengthMs) => lengthMs === Infinity)) return plans
  return plans.map((plan): DevicePlan<D> => {
    if (plan.kind !== 'upgrade') return plan
    const { device } = plan
    const lengthMs = lengths.get(device.siteId) ?? Infinity
    const needMs = rebootTimeoutMs({ type: device.type, members: device.memberVersions.length }, defaultRolloutOptions)
    // The engine looks a moment after a window opens, when one that is only just long enough has become too short.
    if (needMs < lengthMs) return plan
    const reason = `may take ${needMs / 60_000} minutes, and no maintenance window of its site has more than ${lengthMs / 60_000}`
    return { kind: 'leave_out', device, reason }
  })
}

function lengthOf(windows: readonly MaintenanceWindow[]): number {
  return windows.length === 0 ? Infinity : longestMs(windows)
}
