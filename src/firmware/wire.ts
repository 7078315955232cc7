import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../http/lists/filters.ts'
import { Binary, Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { epochS } from '../platform/time/clock.ts'
import { invalidField } from '../platform/errors.ts'
import type { DeviceType } from '../events/device-type.ts'
import { versionFilters } from './filters.ts'
import { type CatalogImage, type CatalogVersion, versionTags } from './firmware.ts'
import {
  CODENAME,
  type CatalogPackage,
  PACKAGE_VERSION,
  type PackageName,
  channels,
  packageLabels,
  packageNames,
} from './packages/package.ts'
import type { ModelOffer, Offer, PackageOffer, UploadedImage } from './uploads/upload-image.ts'
import { areComparable, compareVersions } from './version-order.ts'

/** Device versions contain blanks and slashes: `OpenWrt 21.02 / TIP-v2.5.0`. */
const versionText = { minLength: 1, maxLength: 200, pattern: '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$' }
const Version = Type.String(versionText)

export const UploadQuery = Type.Object({
  version: Version,
  models: Type.Optional(
    Type.String({
      maxLength: 5000,
      pattern: '^[\\w.+/(), -]*$',
      description: 'models of the devices that the image is for, separated by commas',
    }),
  ),
  tag: Type.Optional(Type.Enum(versionTags, { description: 'with `models` only' })),
  reported: Type.Optional(
    Type.String({
      maxLength: 5000,
      description:
        'further strings by which devices report that they run the version, separated by commas. With `models` only',
    }),
  ),
  min_version: Type.Optional(
    Type.String({
      ...versionText,
      description: 'the lowest version from which a device can install this one. With `models` only',
    }),
  ),
  package: Type.Optional(
    Type.Enum(packageNames, { description: 'the image is this package for edge appliances; instead of `models`' }),
  ),
  distro: Type.Optional(
    Type.String({
      pattern: CODENAME,
      description: 'codename of the distribution that the package is for; without it, any. With `package` only',
    }),
  ),
  channel: Type.Optional(
    Type.Enum(channels, {
      description: 'how steady the version is. Without it a package is `stable`, and firmware of devices in no channel',
    }),
  ),
  default: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'make the package the default of its name, distribution and channel. With `package` only',
    }),
  ),
  signature: Type.Optional(
    textOf('ed25519Signature', {
      description: 'Ed25519 over the 32 bytes of the SHA-256 of the image, in base64; edge appliances may demand one',
    }),
  ),
  sha256: Type.Optional(textOf('sha256', { description: 'refuse the upload if the image has another' })),
})

/** For the document only: the body is a stream, which no schema can check. */
export const UploadBody = {
  content: { 'application/octet-stream': { schema: Binary } },
}

const ImageVersion = named(
  'FirmwareVersion',
  Type.Object({ model: Type.String(), version: Type.String(), tag: Type.Optional(Type.String()) }),
)

const CatalogVersionReply = named(
  'FirmwareCatalogVersion',
  Type.Object({
    ...ImageVersion.properties,
    channel: Type.Optional(Type.Enum(channels)),
    reported: Type.Array(Type.String(), {
      description: 'further texts by which devices report that they run the version',
    }),
    min_version: Type.Optional(Type.String({ description: 'the lowest version from which it can be installed' })),
  }),
)

const ImagePackage = named(
  'FirmwarePackage',
  Type.Object({
    package: Type.String(),
    version: Type.String(),
    distro: Type.Optional(Type.String()),
    channel: Type.Enum(channels),
    default: Type.Boolean(),
  }),
)

export const ImageReply = named(
  'FirmwareImage',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    sha256: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    signature: Type.Optional(Type.String({ description: 'Ed25519 over the bytes of the SHA-256, in base64' })),
    versions: Type.Array(CatalogVersionReply),
    packages: Type.Array(ImagePackage),
    created_time: Timestamp,
  }),
)

export const UploadReply = named(
  'FirmwareUpload',
  Type.Object({
    ...ImageReply.properties,
    existed: Type.Boolean({ description: 'the organization had an image with this SHA-256 already' }),
  }),
)

export const VersionsQuery = Type.Object({
  type: Type.Optional(Type.Enum(['ap', 'gateway', 'switch'], { default: 'ap' })),
  ...filterQuery(versionFilters),
})

/** Source: contract, `DeviceVersion`. */
export const VersionsReply = Type.Array(ImageVersion)

export const DownloadParams = Type.Object({
  org_id: Uuid,
  command_id: Uuid,
  image_id: Uuid,
  expires: Type.String({ pattern: '^\\d{1,12}$' }),
  signature: Type.String({ pattern: '^[\\w-]{1,100}$' }),
})

const Model = /^[\w.+/()-]{1,100}$/
const MAX_MODELS = 100

/** @throws AppError invalid naming the field. */
export function parseOffer(query: Static<typeof UploadQuery>): Offer {
  const { version, sha256, signature = null } = query
  const offered = query.package === undefined ? parseModels(query) : parsePackage(query, query.package)
  return { version, as: offered, sha256: sha256?.toLowerCase() ?? null, signature }
}

const packageVersion = new RegExp(PACKAGE_VERSION)

function parsePackage(query: Static<typeof UploadQuery>, name: PackageName): PackageOffer {
  const { version, distro = null, channel = 'stable', default: isDefault = false } = query
  for (const field of ['models', 'tag', 'reported', 'min_version'] as const)
    if (query[field] !== undefined) throw invalidField(field, 'is for firmware of devices, not for a package')
  refuseLabel(version, packageLabels)
  if (!packageVersion.test(version)) throw invalidField('version', `${version} does not match ${PACKAGE_VERSION}`)
  return { kind: 'package', package: name, distro, channel, isDefault }
}

function parseModels({ models = '', tag, channel, reported, ...query }: Static<typeof UploadQuery>): ModelOffer {
  for (const field of ['distro', 'default'] as const)
    if (query[field] !== undefined) throw invalidField(field, 'is for a package, and package is missing')
  const names = splitList(models)
  if (names.length === 0) throw invalidField('models', 'name at least one model, or a package')
  if (names.length > MAX_MODELS) throw invalidField('models', `name at most ${MAX_MODELS} models`)
  const odd = names.find((name) => !Model.test(name))
  if (odd !== undefined) throw invalidField('models', `${odd} is not a model name`)
  const { version, min_version: minVersion = null } = query
  refuseLabel(version, versionTags)
  if (minVersion !== null && areComparable(version, minVersion) && compareVersions(minVersion, version) > 0)
    throw invalidField('min_version', `is ${minVersion}, which is later than the version itself, ${version}`)
  return {
    kind: 'models',
    models: names,
    tag: tag ?? null,
    channel: channel ?? null,
    reported: parseReported(reported).filter((text) => text !== version),
    minVersion,
  }
}

/** No upgrade could request the version: its name would mean another one. */
function refuseLabel(version: string, labels: readonly string[]): void {
  if (labels.includes(version)) throw invalidField('version', `is ${version}, which upgrades take for a label`)
}

const MAX_REPORTED = 20
const reportedText = new RegExp(versionText.pattern)

function parseReported(reported = ''): string[] {
  const texts = splitList(reported)
  if (texts.length > MAX_REPORTED)
    throw invalidField('reported', `has ${texts.length} strings, but at most ${MAX_REPORTED} are allowed`)
  const odd = texts.find((text) => text.length > versionText.maxLength || !reportedText.test(text))
  if (odd !== undefined) throw invalidField('reported', `${odd} must have 1 to 200 printable ASCII characters`)
  return texts
}

/** Splits a list at its commas, without duplicates. */
function splitList(list: string): string[] {
  const parts = list.split(',').map((part) => part.trim())
  return [...new Set(parts.filter((part) => part !== ''))]
}

export function presentImage(orgId: string, image: CatalogImage): Static<typeof ImageReply> {
  const { id, sha256, sizeBytes, signature, versions, packages, createdAt } = image
  return {
    id,
    org_id: orgId,
    sha256,
    size: sizeBytes,
    ...(signature !== null && { signature }),
    versions: versions.map(presentCatalogVersion),
    packages: packages.map(presentPackage),
    created_time: epochS(createdAt),
  }
}

export function presentUpload(orgId: string, { image, existed }: UploadedImage): Static<typeof UploadReply> {
  return { ...presentImage(orgId, image), existed }
}

export function presentVersion({
  model,
  version,
  tag,
}: Pick<CatalogVersion, 'model' | 'version' | 'tag'>): Static<typeof ImageVersion> {
  return { model, version, ...(tag !== null && { tag }) }
}

function presentCatalogVersion({
  channel,
  reported,
  minVersion,
  ...version
}: CatalogImage['versions'][number]): Static<typeof CatalogVersionReply> {
  return {
    ...presentVersion(version),
    ...(channel !== null && { channel }),
    reported: [...reported],
    ...(minVersion !== null && { min_version: minVersion }),
  }
}

function presentPackage({
  package: name,
  version,
  distro,
  channel,
  isDefault,
}: Omit<CatalogPackage, 'imageId'>): Static<typeof ImagePackage> {
  return { package: name, version, ...(distro !== null && { distro }), channel, default: isDefault }
}

export interface VersionChoice {
  readonly type: DeviceType
  readonly conditions: Conditions<typeof versionFilters>
}

/** Without `type`, the request is for access points. Source: contract, `listOrgAvailableDeviceVersions`. */
export function parseVersionChoice({ type = 'ap', ...query }: Static<typeof VersionsQuery>): VersionChoice {
  return { type, conditions: parseFilters(versionFilters, query) }
}
