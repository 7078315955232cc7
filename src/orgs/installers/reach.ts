import type { SitesScope } from '../../access/scope.ts'
import type { InstallerSetting } from '../org-settings/setting.ts'

const DAY_MS = 86_400_000

/** The objects that an operation under /installer may access. */
export interface Installer {
  readonly scope: SitesScope
  readonly reach: Reach
  /** True for a caller who may write everything in the organization. */
  readonly mayWrite: boolean
}

/** The part of an installer's scope that they may work on under /installer. */
export interface Reach {
  /** Limits devices to those claimed at or after this time. */
  readonly claimedSince: Date
  /** True if older devices count too. */
  readonly allDevices: boolean
  /** Null: every site of the scope. */
  readonly sites: ReachedSites | null
}

export interface ReachedSites {
  readonly madeSince: Date
  readonly extraIds: readonly string[]
}

/**
 * @param unlimited True if every site of the scope counts, whatever the setting, because the privilege names these
 *   sites or allows writing anyway.
 */
export function reachOf(
  { allowAllDevices, allowAllSites, extraSiteIds, graceDays }: InstallerSetting,
  { unlimited, now }: { readonly unlimited: boolean; readonly now: Date },
): Reach {
  const since = new Date(now.getTime() - graceDays * DAY_MS)
  return {
    claimedSince: since,
    allDevices: allowAllDevices,
    sites: unlimited || allowAllSites ? null : { madeSince: since, extraIds: extraSiteIds },
  }
}
