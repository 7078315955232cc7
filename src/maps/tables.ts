import type { Generated } from 'kysely'
import type { Json } from '../platform/json-column.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    siteMap: SiteMapTable
    mapStack: MapStackTable
  }
}

export interface SiteMapTable {
  orgId: string
  siteId: string
  id: string
  doc: Json<Record<string, unknown>>
  image: string | null
  imageBytes: Generated<number>
  thumbnail: string | null
  thumbnailBytes: Generated<number>
  thumbnailFailed: Generated<boolean>
  createdAt: Date
  modifiedAt: Date
}

export interface MapStackTable {
  orgId: string
  siteId: string
  id: string
  name: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}
