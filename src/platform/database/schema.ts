import type { Generated } from 'kysely'

/** Every table, by its name in camel case: the platform's here, each noun's in its tables.ts. */
export interface Schema {
  serviceClock: ServiceClockTable
  storageUsage: StorageUsageView
  sealedTable: SealedTableTable
  masterKey: MasterKeyTable
}

/** One row: see service-clock.ts. */
export interface ServiceClockTable {
  id: Generated<boolean>
  ms: number
  /** The wall time when the service last ran; null before. */
  wallAt: Date | null
}

/** See sealing/seal-tables.ts. */
export interface SealedTableTable {
  tableName: string
  afterKey: string[] | null
  isWhole: boolean
}

/** One row: see sealing/check-master-key.ts. */
export interface MasterKeyTable {
  id: Generated<boolean>
  sealed: Buffer
}

export type StorageKind = 'firmware' | 'pictures' | 'support'

/** A view: one row per file, or per picture with its thumbnail. */
export interface StorageUsageView {
  orgId: string
  kind: StorageKind
  /** A bigint: pg returns it as text. */
  bytes: string
}
