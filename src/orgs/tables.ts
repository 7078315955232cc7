import type { Json } from '../platform/json-column.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    orgSetting: OrgSettingTable
    siteGroup: SiteGroupTable
    siteSetting: SiteSettingTable
  }
}

export interface OrgSettingTable {
  orgId: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

export interface SiteGroupTable {
  orgId: string
  id: string
  name: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

export interface SiteSettingTable {
  orgId: string
  siteId: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}
