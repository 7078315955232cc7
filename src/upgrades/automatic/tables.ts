import type { Generated } from 'kysely'
import type { OnboardingSetting } from './onboarding.ts'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    siteAutoUpgrade: SiteAutoUpgradeTable
    onboardingSite: OnboardingSiteTable
    onboardedDevice: OnboardedDeviceTable
  }
}

export interface SiteAutoUpgradeTable {
  orgId: string
  siteId: string
  /** The hash of the setting, and the zone, for which the time was computed. */
  ruleHash: string
  timezone: string
  dueAt: Date
  /** The last time; null: there was none with this setting. */
  ranAt: Date | null
  /** The last site upgrade that began; null: none did. */
  upgradeId: string | null
  /** Earlier ones with this setting in which devices had failed, or that had not ended, when the next one began; none that succeeded otherwise. */
  failedIds: Generated<string[]>
  /** Why none began the last time. */
  reason: string | null
}

/** A site where such a setting was seen. */
export interface OnboardingSiteTable {
  orgId: string
  siteId: string
  setting: OnboardingSetting
}

/** A device that is not new any more. Those of organizations without such a setting are not in it. */
export interface OnboardedDeviceTable {
  orgId: string
  deviceId: string
}
