import type { SitesScope } from '../../access/scope.ts'
import type { InstallerSetting } from '../setting.ts'

const DAY_MS = 86_400_000

/** What an operation under /installer may touch. */
export interface Installer {
  readonly scope: SitesScope
  readonly reach: Reach
}

/** What somebody may work on under /installer, of what their scope covers. */
export interface Reach {
  /** Devices claimed from then on. */
  readonly claimedSince: Date
  /** Older devices too. */
  readonly allDevices: boolean
  /** Null: every site of the scope. */
  readonly sites: ReachedSites | null
}

export interface ReachedSites {
  readonly madeSince: Date
  readonly extraIds: readonly string[]
}

/**
 * @param unlimited Whether every site of the scope is theirs whatever the setting says: their privilege
 *   names these sites, or lets them write anyway.
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
