import type { Json } from './json.ts'

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

export interface DeviceOutageTable {
  orgId: string
  deviceId: string
  downAt: Date
  dueAt: Date
}
