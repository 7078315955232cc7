import type { UploadQuota } from '../platform/storage/upload-quota.ts'

/** Where images are kept, and how large one may be. Built once in app/. */
export interface FirmwareFiles {
  /** Absolute path; one file an image, named by the image's id. */
  readonly dir: string
  readonly maxBytes: number
  readonly quota: UploadQuota
}

/** 2 GiB: larger than any image of the device families we drive. */
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

/** One line of the catalog: `model` can run `version`, and this image makes it. */
export interface CatalogVersion {
  readonly model: string
  readonly version: string
  readonly tag: string | null
  readonly imageId: string
  readonly createdAt: Date
}

/** An image with what it is offered as; all its versions are of the same upload or later ones of equal bytes. */
export interface CatalogImage extends Image {
  readonly versions: readonly { readonly model: string; readonly version: string; readonly tag: string | null }[]
}
