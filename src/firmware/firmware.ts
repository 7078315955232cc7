import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import type { ObjectStore } from '../platform/storage/object-store.ts'
import type { UploadQuota } from '../platform/storage/upload-quota.ts'
import type { SignatureTrust } from './uploads/check-signature.ts'
import type { CatalogPackage, Channel } from './packages/package.ts'

/** The storage of images. */
export interface ImagePlace {
  /** Absolute path; one file per image, named by the image's id. Uploads arrive here. */
  readonly dir: string
  /**
   * An object store for images, under the same names. Images that are still in the folder are read from there until
   * they are moved.
   */
  readonly objects?: ObjectStore | undefined
}

/** The storage of images, and their maximum size. Built once in app/. */
export interface FirmwareFiles extends ImagePlace {
  readonly maxBytes: number
  readonly quota: UploadQuota
  readonly trust: SignatureTrust
}

export const versionTags = ['latest', 'suggested', 'stable', 'beta', 'alpha'] as const

export interface Image {
  readonly id: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly sizeBytes: number
  /** Ed25519 over the 32 bytes of the SHA-256, in base64; null if unsigned. */
  readonly signature: string | null
  readonly createdAt: Date
}

/** The catalog's data about a version of a model. */
export interface VersionTraits {
  /** A label for the version. */
  readonly tag: string | null
  /** The release channel of the version; null: unknown. */
  readonly channel: Channel | null
  /** Further strings by which devices report that they run the version: stock builds carry suffixes. */
  readonly reported: readonly string[]
  /** The lowest version from which it can be installed; null: any. */
  readonly minVersion: string | null
}

/** A catalog entry: `model` can run `version`, and this image installs it. */
export interface CatalogVersion extends VersionTraits {
  readonly model: string
  readonly version: string
  readonly imageId: string
  readonly createdAt: Date
}

/** Returns the reason why the image can't be deleted: something outside the catalog still needs it. Null: nothing does. */
export type FindImageUser = (tx: Tx, scope: OrgScope, imageId: string) => Promise<string | null>

export function usedByUpgrade(id: string): string {
  return `Upgrade ${id} uses this image: cancel it, or wait for its end`
}

/** @param receiver Such as `a device`. */
export function usedByCommand(receiver: string): string {
  return `A command to ${receiver} uses this image: wait for its end`
}

/**
 * An image with the versions that it is offered as. They come from its upload, or from later uploads of the same bytes.
 */
export interface CatalogImage extends Image {
  readonly versions: readonly Omit<CatalogVersion, 'imageId' | 'createdAt'>[]
  readonly packages: readonly Omit<CatalogPackage, 'imageId'>[]
}
