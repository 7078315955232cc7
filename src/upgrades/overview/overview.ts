import type { MxedgeTargetCounts } from '../../mxedges/upgrades/upgrade.ts'
import type { PartStatus } from '../../rollout/decide-whole-status.ts'
import type { TargetCounts, UpgradeHold, UpgradeKind } from '../../rollout/rollout.ts'

export const overviewKinds = ['device', 'mxedge', 'ssr'] as const satisfies readonly (UpgradeKind | 'mxedge')[]
export type OverviewKind = (typeof overviewKinds)[number]

interface CommonFields {
  readonly id: string
  /** Null: it has none. */
  readonly name: string | null
  readonly strategy: string
  readonly createdAt: Date
  /** When its first site begins; null if it has none. */
  readonly startAt: Date | null
  /** When it stops by itself, in epoch seconds; null: never. */
  readonly endS: number | null
  /** Each status of its sites once. */
  readonly statuses: readonly PartStatus[]
  readonly isRunning: boolean
  /** Why it waits; null unless it runs and waits. */
  readonly hold: UpgradeHold | null
  /** When the first maintenance window opens that it waits for; null: it waits for none. */
  readonly waitsUntil: Date | null
  /** Why it stops or has stopped before its end. */
  readonly stopReason: string | null
  /** The number of devices or edge appliances of other upgrades that it awaits, also after its end. */
  readonly awaited: number
  /** At a site: it also concerns others, or those that are created later. False in an organization. */
  readonly hasOtherSites: boolean
}

interface DeviceOverview extends CommonFields {
  readonly kind: UpgradeKind
  /** Empty where the version depends on the model. */
  readonly targetVersion: string
  readonly sites: number
  /** States without devices may be missing. */
  readonly counts: Partial<TargetCounts>
}

interface MxedgeOverview extends CommonFields {
  readonly kind: 'mxedge'
  /** By service, as requested. */
  readonly versions: Readonly<Record<string, string>>
  readonly distro: string | null
  readonly counts: Partial<MxedgeTargetCounts>
}

/** An upgrade of any kind, without its devices. */
export type UpgradeOverview = DeviceOverview | MxedgeOverview
