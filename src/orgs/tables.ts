import type { GeneratedAlways } from 'kysely'
import type { Document } from '../platform/json/document.ts'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    orgSetting: OrgSettingTable
    siteGroup: SiteGroupTable
    siteSetting: SiteSettingTable
  }
}

export interface OrgSettingTable {
  orgId: string
  doc: DocumentColumn
  /** The field of the document, which statements read without the rest. */
  autoUpgrade: GeneratedAlways<Document | null>
  /** Stands for it in comparisons, which would read all of it. */
  autoUpgradeHash: GeneratedAlways<string | null>
  /** Whether `auto_upgrade` in other fields is on, by their names; see migration 564. */
  onboarding: GeneratedAlways<Document | null>
  createdAt: Date
  modifiedAt: Date
}

export interface SiteGroupTable {
  orgId: string
  id: string
  name: string
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
}

export interface SiteSettingTable {
  orgId: string
  siteId: string
  doc: DocumentColumn
  /** These are as in OrgSettingTable. */
  autoUpgrade: GeneratedAlways<Document | null>
  autoUpgradeHash: GeneratedAlways<string | null>
  onboarding: GeneratedAlways<Document | null>
  createdAt: Date
  modifiedAt: Date
}
