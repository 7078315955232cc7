export type StorageKind = 'firmware' | 'pictures'

/** A view: one row a file, or a picture with its thumbnail. */
export interface StorageUsageView {
  orgId: string
  kind: StorageKind
  /** A bigint: pg returns it as text. */
  bytes: string
}
