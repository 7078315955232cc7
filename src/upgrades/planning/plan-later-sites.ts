import type { MaintenanceWindow } from '../../orgs/windows/windows.ts'
import type { UpgradePlan } from '../../rollout/rollout.ts'
import type { NewSiteUpgrade } from '../../rollout/store-create.ts'
import { noCounts } from '../../rollout/rollout.ts'
import type { RequestedTime, UpgradeRequest, UpgradeSite } from '../org-upgrade.ts'
import { type SiteTimes, resolveTimes } from './plan-times.ts'
import { type SiteWindows, addWindows } from './plan-windows.ts'

/** The plan of an upgrade of all sites for those that are created after it. */
export interface LaterSites extends Pick<UpgradeRequest, 'start' | 'reboot' | 'windows'> {
  /** The plan of a site without devices. */
  readonly plan: UpgradePlan
}

/** The stored form. */
export interface EncodedLaterSites {
  readonly plan: UpgradePlan
  readonly start: EncodedTime | null
  readonly reboot: EncodedTime | null
  readonly windows: readonly MaintenanceWindow[] | null
}

interface EncodedTime {
  readonly field: string
  readonly time:
    | { readonly kind: 'instant'; readonly at: string }
    | Extract<RequestedTime['time'], { readonly kind: 'local' }>
}

export function encodeLaterSites({ start, reboot, ...rest }: LaterSites): EncodedLaterSites {
  return { ...rest, start: start && encodeTime(start), reboot: reboot && encodeTime(reboot) }
}

export function decodeLaterSites({ start, reboot, ...rest }: EncodedLaterSites): LaterSites {
  return { ...rest, start: start && decodeTime(start), reboot: reboot && decodeTime(reboot) }
}

function encodeTime({ field, time }: RequestedTime): EncodedTime {
  return { field, time: time.kind === 'local' ? time : { kind: 'instant', at: time.at.toISOString() } }
}

function decodeTime({ field, time }: EncodedTime): RequestedTime {
  return { field, time: time.kind === 'local' ? time : { kind: 'instant', at: new Date(time.at) } }
}

export interface LaterSite {
  readonly site: UpgradeSite
  /** The id of the site upgrade that it would get. */
  readonly upgradeId: string
}

/** Plans the times and windows of sites that were created after the upgrade. */
export function planLaterTimes(
  later: LaterSites,
  {
    sites,
    ofSites,
    now,
  }: { readonly sites: readonly UpgradeSite[]; readonly ofSites: SiteWindows; readonly now: Date },
): ReadonlyMap<string, SiteTimes> {
  return addWindows(later, resolveTimes(later, sites, now), ofSites)
}

/** Plans the site upgrade of a site that was created after the upgrade, still without devices. */
export function planLaterSite(
  { plan }: LaterSites,
  { site, upgradeId }: LaterSite,
  { startAt, rebootAt, timezone, windows, warnings }: SiteTimes,
): NewSiteUpgrade {
  return {
    id: upgradeId,
    siteId: site.id,
    status: 'completed',
    startAt,
    rebootAt,
    plan: { ...plan, timezone, ...(windows.length > 0 && { windows }) },
    counts: noCounts,
    total: 0,
    notes: [{ reason: 'The site was created after the upgrade' }, ...warnings],
    dueMs: null,
  }
}
