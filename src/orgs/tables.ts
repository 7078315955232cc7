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
  createdAt: Date
  modifiedAt: Date
}
