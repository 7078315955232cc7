import type { Json } from '../../platform/database/json-column.ts'
import type { AutoUpgrade } from '../../orgs/windows/auto-upgrade.ts'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    siteAutoUpgrade: SiteAutoUpgradeTable
  }
}

export interface SiteAutoUpgradeTable {
  orgId: string
  siteId: string
  /** The setting and the zone for which the time was computed. */
  rule: Json<AutoUpgrade>
  timezone: string
  dueAt: Date
  /** The last time; null: there was none with this setting. */
  ranAt: Date | null
  /** The last site upgrade that began, and its versions; null: none did. */
  upgradeId: string | null
  versions: Json<VersionsByModel> | null
  /** Why none began the last time. */
  reason: string | null
}

export type VersionsByModel = Readonly<Record<string, string>>
