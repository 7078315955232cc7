import type { Readable } from 'node:stream'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import type { Reservation } from '../../platform/storage/upload-quota.ts'
import { discardUpload } from '../../platform/storage/uploads.ts'
import { checkSignature } from './check-signature.ts'
import type { CatalogImage, FirmwareFiles, VersionTraits } from '../firmware.ts'
import { type ReceivedFile, keepFile, receiveFile, removeImageFile } from '../storage/storage.ts'
import type { CatalogPackage } from '../packages/package.ts'
import { insertPackage } from '../packages/store.ts'
import { findImage, findOtherVersion, insertImage, insertVersions } from '../store.ts'

/** The catalog entry under which an image is offered. */
export interface Offer {
  readonly version: string
  readonly as: ModelOffer | PackageOffer
  /** See Image. */
  readonly signature: string | null
  /** The hash that the client announces, lower-case hex; null if none. */
  readonly sha256: string | null
}

/** Firmware of devices. */
export interface ModelOffer extends VersionTraits {
  readonly kind: 'models'
  /** At least one, without duplicates. */
  readonly models: readonly string[]
}

/** A package for edge appliances. */
export interface PackageOffer extends Pick<CatalogPackage, 'package' | 'distro' | 'channel' | 'isDefault'> {
  readonly kind: 'package'
}

export interface Upload {
  readonly files: FirmwareFiles
  readonly body: Readable
  /** The length that the client announces; undefined if none. */
  readonly declaredBytes: number | undefined
  readonly offer: Offer
}

export interface UploadedImage {
  readonly image: CatalogImage
  /** True if the organization had the same bytes already. */
  readonly existed: boolean
}

/**
 * Adds an image to the catalog. The file is on disk, synced, before the row that names it is committed; a failure
 * leaves neither.
 * @throws AppError invalid for another hash than announced, for a signature by no trusted key, and for a string that is
 *   reported for another version; conflict if the model has that version from another image; too_large; unavailable; as
 *   UploadQuota.reserve().
 */
export async function uploadImage(ctx: Context, scope: OrgScope, upload: Upload): Promise<UploadedImage> {
  const { files, declaredBytes } = upload
  const reservation = await files.quota.reserve({ orgId: scope.orgId, declaredBytes })
  try {
    return await receiveImage(ctx, scope, { ...upload, reservation })
  } finally {
    reservation.release()
  }
}

async function receiveImage(
  ctx: Context,
  scope: OrgScope,
  { files, body, offer, reservation }: Upload & { readonly reservation: Reservation },
): Promise<UploadedImage> {
  const received = await receiveFile(files, body, reservation)
  if (offer.sha256 !== null && offer.sha256 !== received.sha256) {
    await discardUpload(received)
    throw invalidField('sha256', `the image's SHA-256 is ${received.sha256}`)
  }
  const id = uuidv7()
  try {
    checkSignature(files.trust, { sha256: received.sha256, signature: offer.signature })
    await keepFile(files, received, id)
  } catch (error) {
    await discardUpload(received)
    throw error
  }
  try {
    const image = await inTx(ctx, (tx) => catalog(tx, scope, { id, received, offer, at: ctx.clock.now() }))
    const existed = image.id !== id
    if (existed) await removeImageFile(files, id)
    return { image, existed }
  } catch (error) {
    // After any other error the commit may have happened: the sweep at the next start decides by the rows.
    if (error instanceof AppError) await removeImageFile(files, id)
    throw error
  }
}

interface NewImage {
  readonly id: string
  readonly received: ReceivedFile
  readonly offer: Offer
  readonly at: Date
}

async function catalog(tx: Tx, scope: OrgScope, { id, received, offer, at }: NewImage): Promise<CatalogImage> {
  const { version, signature, as: offered } = offer
  const { sha256, sizeBytes } = received
  const imageId = await insertImage(tx, scope, { id, sha256, sizeBytes, signature, createdAt: at })
  const place = { version, imageId, at }
  const message = await (offered.kind === 'models'
    ? catalogVersions(tx, scope, { ...offered, ...place })
    : catalogPackage(tx, scope, { ...offered, ...place }))
  const { kind: _kind, ...traits } = offered
  await appendAudit(tx, scope, { message, after: { id: imageId, version, ...traits, sha256 }, at })
  const image = await findImage(tx, scope, imageId)
  if (image === undefined) throw notFound(imageId)
  return image
}

interface Place {
  readonly version: string
  readonly imageId: string
  readonly at: Date
}

/** @returns The content of the audit record. */
async function catalogVersions(
  tx: Tx,
  scope: OrgScope,
  { models, tag, channel, reported, minVersion, version, imageId, at }: ModelOffer & Place,
): Promise<string> {
  const other = await findOtherVersion(tx, scope, { models, version, reported })
  if (other !== undefined)
    throw invalidField(
      other.said === version ? 'version' : 'reported',
      `${other.said} is what devices of the model ${other.model} report for version ${other.version}`,
    )
  const traits = { version, tag, channel, reported, minVersion, imageId, createdAt: at }
  const lines = models.map((model) => Object.assign({ model }, traits))
  const [taken] = await insertVersions(tx, scope, lines)
  if (taken !== undefined)
    throw new AppError('conflict', `${taken.model} has version ${taken.version} from another image: delete that first`)
  return `Upload firmware ${version} for ${models.join(', ')}`
}

/** @returns The content of the audit record. */
async function catalogPackage(
  tx: Tx,
  scope: OrgScope,
  { package: name, distro, channel, isDefault, version, imageId, at }: PackageOffer & Place,
): Promise<string> {
  const entry = { package: name, version, distro, channel, isDefault, imageId, createdAt: at }
  const title = `${name} ${version}${distro === null ? '' : ` for ${distro}`}`
  if (await insertPackage(tx, scope, entry)) return `Upload package ${title}`
  throw new AppError('conflict', `${title} is there from another image: delete that first`)
}
