import type { Generated } from 'kysely'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    siteMap: SiteMapTable
    mapStack: MapStackTable
  }
}

export interface SiteMapTable {
  orgId: string
  siteId: string
  id: string
  doc: DocumentColumn
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
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
}
