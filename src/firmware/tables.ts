import type { Generated } from 'kysely'
import type { DefaultJson } from '../platform/database/json-column.ts'
import type { Channel, PackageName } from './packages/package.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    firmwareImage: FirmwareImageTable
    firmwareVersion: FirmwareVersionTable
    firmwareDownload: FirmwareDownloadTable
    firmwarePackage: FirmwarePackageTable
  }
}

export interface FirmwareImageTable {
  orgId: string
  id: string
  sha256: string
  /** A bigint: pg returns it as text. */
  sizeBytes: string
  /** Ed25519 over the SHA-256, in base64. */
  signature: string | null
  createdAt: Date
}

export interface FirmwareVersionTable {
  orgId: string
  model: string
  version: string
  imageId: string
  tag: string | null
  channel: Channel | null
  /** Further strings by which devices report the version. */
  reported: DefaultJson<readonly string[]>
  minVersion: string | null
  createdAt: Date
}

export interface FirmwareDownloadTable {
  orgId: string
  commandId: string
  imageId: string
  startedAt: Date
  touchedAt: Date
  /** The same instant in service time. */
  touchedMs: Generated<number>
  bytesServed: string
  deliveredAt: Date | null
  fencedAt: Date | null
}

export interface FirmwarePackageTable {
  orgId: string
  package: PackageName
  version: string
  /** Empty: any. */
  distro: string
  channel: Channel
  isDefault: boolean
  imageId: string
  createdAt: Date
}
