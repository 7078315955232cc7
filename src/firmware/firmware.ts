import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'
import type { UploadQuota } from '../platform/storage/upload-quota.ts'
import type { CatalogPackage } from './packages/package.ts'

/** Where images are stored, and how large one may be. Built once in app/. */
export interface FirmwareFiles {
  /** Absolute path; one file per image, named by the image's id. */
  readonly dir: string
  readonly maxBytes: number
  readonly quota: UploadQuota
}

/** 2 GiB: larger than any image of the supported device families. */
export const DEFAULT_MAX_IMAGE_BYTES = 2 * 1024 ** 3

export const versionTags = ['latest', 'suggested', 'stable', 'beta', 'alpha'] as const
export type VersionTag = (typeof versionTags)[number]

export interface Image {
  readonly id: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly sizeBytes: number
  /** Ed25519 over the 32 bytes of the SHA-256, in base64; null where nobody has signed it. */
  readonly signature: string | null
  readonly createdAt: Date
}

/** A catalog entry: `model` can run `version`, and this image installs it. */
export interface CatalogVersion {
  readonly model: string
  readonly version: string
  readonly tag: string | null
  readonly imageId: string
  readonly createdAt: Date
}

/** Returns true while something outside the catalog needs the image, so that it can't be deleted. */
export type ImageUse = (tx: Tx, scope: OrgScope, imageId: string) => Promise<boolean>

/**
 * An image with the versions that it is offered as. They come from its upload, or from later uploads of the same bytes.
 */
export interface CatalogImage extends Image {
  readonly versions: readonly { readonly model: string; readonly version: string; readonly tag: string | null }[]
  readonly packages: readonly Omit<CatalogPackage, 'imageId'>[]
}
