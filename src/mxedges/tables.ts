import type { Generated, GeneratedAlways } from 'kysely'
import type { Json } from '../platform/json-column.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    mxedgeRegistry: MxedgeRegistryTable
    mxcluster: MxclusterTable
    mxedge: MxedgeTable
    mxedgeImage: MxedgeImageTable
  }
}

export interface MxedgeRegistryTable {
  id: string
  mac: string
  serial: string
  model: string
  claimCode: string
  orgId: string | null
  createdAt: Date
}

export interface MxclusterTable {
  orgId: string
  id: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

export interface MxedgeTable {
  orgId: string
  id: string
  siteId: string | null
  mxclusterId: string | null
  name: string
  model: string
  mac: string | null
  serial: string | null
  doc: Json<Record<string, unknown>>
  registrationCode: string
  registrationEpoch: Generated<number>
  registeredAt: Date | null
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
}

export interface MxedgeImageTable {
  orgId: string
  mxedgeId: string
  /** 1 to 3. */
  number: number
  /** Name of its file. */
  name: string
  /** 0: not measured yet. */
  bytes: Generated<number>
  width: number
  height: number
  createdAt: Date
}
