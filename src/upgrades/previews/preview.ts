import type { OrgPhasePlan, UpgradeNote, UpgradePlan } from '../../rollout/rollout.ts'

/** How long a plan can be carried out. */
export const PREVIEW_MS = 15 * 60_000

/** The plan of an upgrade that was not started. */
export interface UpgradePreview {
  /** The id of the upgrade, if it is started. */
  readonly planId: string
  readonly expiresAt: Date
  /** Devices that would be upgraded. */
  readonly total: number
  readonly phases: readonly PreviewPhase[]
  /** Phases of the downloads; none: devices download in those of their reboots. */
  readonly downloads: readonly PreviewPhase[]
  /** The devices that reboot more than once, by the versions that they install one after the other. */
  readonly paths: readonly { readonly versions: readonly string[]; readonly macs: readonly string[] }[]
  readonly skipped: readonly SkippedDevice[]
  /** The number of failures that stop the upgrade; null: none, except those of `phases`. */
  readonly stopsAfterFailures: number | null
  /** An estimate; null: there is nothing to do. */
  readonly endsAbout: Date | null
  readonly notes: readonly PreviewNote[]
}

export interface PreviewNote {
  /** Null: it is about the whole upgrade. */
  readonly siteId: string | null
  /** A device that is upgraded; null: it is about the whole site. */
  readonly device: NamedDevice | null
  readonly reason: string
}

export interface NamedDevice {
  readonly mac: string
  readonly name: string | null
}

/** A device that the upgrade leaves out. */
export interface SkippedDevice extends NamedDevice {
  readonly reason: string
}

export interface PreviewPhase {
  /** Cumulative: as the request sets it, else the share of the devices that have had their turn at its end. */
  readonly percent: number
  readonly total: number
  /** The number of failures in it that stop the upgrade; null: it has no limit. */
  readonly stopsAfterFailures: number | null
  /** The sites with devices in the phase. */
  readonly sites: readonly PreviewSite[]
}

export interface PreviewSite {
  readonly siteId: string
  /** The earliest start at the site. */
  readonly startAt: Date
  /** An estimate; null: the site has no maintenance windows, and no gate waits for a time. */
  readonly beginsAbout: Date | null
  /** In the order of their upgrades. */
  readonly macs: readonly string[]
}

/**
 * A plan in its stored form: the result of planUpgradeInSteps(), and the facts that it relied on. Values that many devices
 * share are stored once, because a fleet may have a hundred thousand of them.
 */
export interface StoredPlan {
  readonly phase_plan: OrgPhasePlan | null
  readonly download_plan: OrgPhasePlan | null
  readonly sites: readonly StoredSite[]
  readonly kinds: readonly StoredKind[]
  /**
   * One for each device: MAC, the indexes of its site and its kind, phase, position, the phase of its download, rank.
   */
  readonly targets: readonly (readonly [string, number, number, number, number, (number | null)?, (number | null)?])[]
}

export interface StoredSite {
  readonly site_id: string
  /** ISO 8601. */
  readonly start_at: string
  readonly reboot_at: string
  readonly plan: UpgradePlan
  readonly notes: readonly UpgradeNote[]
}

export interface StoredKind {
  readonly model: string
  readonly image_id: string
  readonly from_version: string | null
  readonly target_version: string
  /** The versions that it installs before. Absent: none. */
  readonly via?: readonly { readonly version: string; readonly image_id: string }[]
  readonly state: 'planned' | 'skipped'
}

/** A fact that is no longer as the plan relied on it. */
export interface PlanDifference {
  readonly mac: string | null
  readonly siteId: string | null
  /** Continues "the device" or "the site". */
  readonly reason: string
}
