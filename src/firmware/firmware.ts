import type { UploadQuota } from '../platform/storage/upload-quota.ts'

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

/**
 * An image with the versions that it is offered as. They come from its upload, or from later uploads of the same bytes.
 */
export interface CatalogImage extends Image {
  readonly versions: readonly { readonly model: string; readonly version: string; readonly tag: string | null }[]
}
