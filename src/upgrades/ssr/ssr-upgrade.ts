import type { PartStatus } from '../../rollout/decide-whole-status.ts'
import type { PhaseApproval, TargetCounts, UpgradeNote, UpgradePart } from '../../rollout/rollout.ts'
import type { SiteUpgrade } from '../org-upgrade.ts'

export const channels = ['alpha', 'beta', 'stable'] as const
export type Channel = (typeof channels)[number]
export const DEFAULT_CHANNEL: Channel = 'stable'

/** The part of an upgrade at one site. */
export interface SsrSite {
  readonly status: PartStatus
  readonly counts: TargetCounts
  readonly only: UpgradePart | null
}

/** An upgrade of SSR routers, as its list shows it. */
export interface SsrUpgradeItem {
  readonly id: string
  readonly name: string | null
  readonly strategy: string
  readonly channel: Channel
  /** The versions that its routers get, by their model. */
  readonly versions: Readonly<Record<string, string>>
  /** One or more; an upgrade of one site's scope shows only that site. */
  readonly sites: readonly SsrSite[]
  /** That of the first site that runs and waits. */
  readonly hold: SiteUpgrade['hold']
}

export interface SsrUpgrade extends SsrUpgradeItem {
  /** The notes of the whole upgrade. */
  readonly notes: readonly UpgradeNote[]
  readonly approvals: readonly PhaseApproval[]
  readonly siteUpgrades: readonly SiteUpgrade[]
}
