import type { TargetCounts, TargetState, UpgradeNote, UpgradePart, UpgradeStatus } from '../../rollout/rollout.ts'

export const channels = ['alpha', 'beta', 'stable'] as const
export type Channel = (typeof channels)[number]
export const DEFAULT_CHANNEL: Channel = 'stable'

/** The part of an upgrade at one site. */
export interface SsrSite {
  readonly status: UpgradeStatus
  readonly counts: TargetCounts
  readonly only: UpgradePart | null
  readonly notes: readonly UpgradeNote[]
  /** ISO 8601; when the maintenance window opens that routers wait for. */
  readonly waitsUntil: string | null
}

/** An upgrade of SSR routers, as its list shows it. */
export interface SsrUpgradeItem {
  readonly id: string
  readonly strategy: string
  readonly channel: Channel
  /** The versions that its routers get, by their model. */
  readonly versions: Readonly<Record<string, string>>
  /** One or more; an upgrade of one site's scope shows only that site. */
  readonly sites: readonly SsrSite[]
}

export interface SsrTarget {
  readonly mac: string
  readonly state: TargetState
  readonly reason: string | null
}

export interface SsrUpgrade extends SsrUpgradeItem {
  /** Ordered by MAC. */
  readonly targets: readonly SsrTarget[]
  /** The notes of the whole upgrade. */
  readonly notes: readonly UpgradeNote[]
}
