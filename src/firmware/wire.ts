import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../http/filters.ts'
import { Binary, Timestamp, Uuid, named } from '../http/schemas.ts'
import { epochS } from '../platform/clock.ts'
import { invalidField } from '../platform/errors.ts'
import type { DeviceType } from '../events/device-type.ts'
import { versionFilters } from './filters.ts'
import { type CatalogImage, type CatalogVersion, versionTags } from './firmware.ts'
import type { Offer } from './upload-image.ts'

/** Device versions contain blanks and slashes: `OpenWrt 21.02 / TIP-v2.5.0`. */
const Version = Type.String({ minLength: 1, maxLength: 200, pattern: '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$' })

export const UploadQuery = Type.Object({
  version: Version,
  models: Type.String({
    maxLength: 5000,
    pattern: '^[\\w.+/(), -]*$',
    description: 'models that the image is for, separated by commas',
  }),
  tag: Type.Optional(Type.Enum(versionTags)),
  sha256: Type.Optional(
    Type.String({ pattern: '^[0-9a-fA-F]{64}$', description: 'refuse the upload if the image has another' }),
  ),
})

/** For the document only: the body is a stream, which no schema can check. */
export const UploadBody = {
  content: { 'application/octet-stream': { schema: Binary } },
}

const ImageVersion = named(
  'FirmwareVersion',
  Type.Object({ model: Type.String(), version: Type.String(), tag: Type.Optional(Type.String()) }),
)

export const ImageReply = named(
  'FirmwareImage',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    sha256: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    versions: Type.Array(ImageVersion),
    created_time: Timestamp,
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
export function parseOffer({ version, models, tag, sha256 }: Static<typeof UploadQuery>): Offer {
  const names = [
    ...new Set(
      models
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  ]
  if (names.length === 0) throw invalidField('models', 'name at least one model')
  if (names.length > MAX_MODELS) throw invalidField('models', `name at most ${MAX_MODELS} models`)
  const odd = names.find((name) => !Model.test(name))
  if (odd !== undefined) throw invalidField('models', `${odd} is no model name`)
  return { version, models: names, tag: tag ?? null, sha256: sha256?.toLowerCase() ?? null }
}

export function presentImage(orgId: string, image: CatalogImage): Static<typeof ImageReply> {
  const { id, sha256, sizeBytes, versions, createdAt } = image
  return {
    id,
    org_id: orgId,
    sha256,
    size: sizeBytes,
    versions: versions.map(presentVersion),
    created_time: epochS(createdAt),
  }
}

export function presentVersion({
  model,
  version,
  tag,
}: Pick<CatalogVersion, 'model' | 'version' | 'tag'>): Static<typeof ImageVersion> {
  return { model, version, ...(tag !== null && { tag }) }
}

export interface VersionChoice {
  readonly type: DeviceType
  readonly conditions: Conditions<typeof versionFilters>
}

/** Without `type`, access points are meant. Source: contract, `listOrgAvailableDeviceVersions`. */
export function parseVersionChoice({ type = 'ap', ...query }: Static<typeof VersionsQuery>): VersionChoice {
  return { type, conditions: parseFilters(versionFilters, query) }
}
