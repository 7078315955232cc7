import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../access/scope.ts'
import type { Conditions } from '../http/lists/filters.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { sizesOf } from '../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../http/lists/store-filters.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import { isOpen } from '../devices/commands/store.ts'
import { type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { columnsOf, insertRows } from '../platform/database/rows.ts'
import type { DeviceType } from '../events/device-type.ts'
import type { versionFilters } from './filters.ts'
import { type CatalogImage, type CatalogVersion, type Image, usedByCommand, usedByUpgrade } from './firmware.ts'
import { packagesOfImage } from './packages/store.ts'
import { compareText, compareVersions } from './version-order.ts'

const columns = { model: column(sql`firmware_version.model`) }

/** Lists the organization's catalog by model, then by version, the newest first. */
export async function listVersions(
  reader: Reader,
  scope: InOrg,
  conditions: Conditions<typeof versionFilters> = {},
): Promise<CatalogVersion[]> {
  const versions = await reader
    .selectFrom('firmwareVersion')
    .select(['model', 'version', 'tag', 'channel', 'reported', 'minVersion', 'imageId', 'createdAt'])
    .where('orgId', '=', scope.orgId)
    .where(allHold(conditionsOn<typeof versionFilters>(columns, conditions)))
    .execute()
  return versions.toSorted((a, b) => compareText(a.model, b.model) || compareVersions(b.version, a.version))
}

/**
 * Returns the device type of each model in the organization; a manifest may declare another one than the model's name
 * suggests.
 */
export async function listDeviceTypesByModel(reader: Reader, scope: InOrg): Promise<Map<string, DeviceType>> {
  const rows = await reader
    .selectFrom('device')
    .select(['model', 'type'])
    .distinct()
    .where('orgId', '=', scope.orgId)
    .execute()
  return new Map(rows.map(({ model, type }) => [model, type]))
}

interface ImageRow extends Omit<CatalogImage, 'sizeBytes'> {
  readonly sizeBytes: string
}

const versionsOfImage = sql<CatalogImage['versions']>`(
  select coalesce(json_agg(json_build_object('model', v.model, 'version', v.version, 'tag', v.tag,
      'channel', v.channel, 'reported', v.reported, 'minVersion', v.min_version)
    order by v.model, v.version), '[]')
  from firmware_version v where v.org_id = firmware_image.org_id and v.image_id = firmware_image.id
)`

function selectImages(reader: Reader, scope: InOrg) {
  return reader
    .selectFrom('firmwareImage')
    .select(['id', 'sha256', 'sizeBytes', 'signature', 'createdAt'])
    .select([versionsOfImage.as('versions'), packagesOfImage.as('packages')])
    .where('orgId', '=', scope.orgId)
}

/**
 * SQL: a text whose bytes order versions: runs of digits have 20 digits, `~` comes before the end of a version, and that before
 * anything else.
 */
const versionKey = sql`translate(regexp_replace(
  regexp_replace(named.version, '[0-9]+', ${'0'.repeat(20)} || '\\&', 'g'), '0*([0-9]{20})', '\\1', 'g'), '~', chr(1)) || chr(2)`

/** The greatest version that an image has; null: it has none. */
const newestOfImage = sql<string | null>`(
  select max(${versionKey} collate "C") from (
    select v.version from firmware_version v where v.org_id = firmware_image.org_id and v.image_id = firmware_image.id
    union all
    select p.version from firmware_package p where p.org_id = firmware_image.org_id and p.image_id = firmware_image.id
  ) named
)`

/** Lists images by their greatest version, the newest first. Of equal ones, the latest upload comes first. */
export async function listImages(reader: Reader, scope: InOrg, page: Page): Promise<Paged<CatalogImage>> {
  const hits = selectImages(reader, scope).select(newestOfImage.as('newest'))
  const { rows, ...whole } = await pageOf<ImageRow & { readonly newest: string | null }>(
    reader,
    {
      hits,
      order: ['newest', 'id'],
      direction: 'desc',
      nullsLast: true,
      sizes: sizesOf(sql`octet_length(hit.versions::text) + octet_length(hit.packages::text)`),
    },
    page,
  )
  return { rows: rows.map(({ newest: _, ...image }) => imageOf(image)), ...whole }
}

export async function findImage(reader: Reader, scope: InOrg, imageId: string): Promise<CatalogImage | undefined> {
  const row = await selectImages(reader, scope).where('id', '=', imageId).executeTakeFirst()
  return row && imageOf(row)
}

/** Returns those of the images that the organization has, by their content. */
export async function listImagesByHash(
  reader: Reader,
  scope: InOrg,
  hashes: readonly string[],
): Promise<Pick<Image, 'id' | 'sha256' | 'signature'>[]> {
  return reader
    .selectFrom('firmwareImage')
    .select(['id', 'sha256', 'signature'])
    .where('orgId', '=', scope.orgId)
    .where('sha256', '=', anyOf(hashes))
    .execute()
}

function imageOf({ sizeBytes, ...row }: ImageRow): CatalogImage {
  return { ...row, sizeBytes: Number(sizeBytes) }
}

/**
 * Inserts the image, or finds the organization's image of the same bytes, which takes a new signature. Either way its row is locked until `tx` ends,
 * so that it can't be deleted before the versions that follow are written.
 * @returns The id of the stored image.
 */
export async function insertImage(tx: Tx, scope: OrgScope, image: Image): Promise<string> {
  const { id } = await tx
    .insertInto('firmwareImage')
    .values({ ...image, orgId: scope.orgId, sizeBytes: String(image.sizeBytes) })
    .onConflict((conflict) =>
      conflict.columns(['orgId', 'sha256']).doUpdateSet((eb) => ({
        signature: eb.fn.coalesce('excluded.signature', 'firmwareImage.signature'),
      })),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const versionColumns = columnsOf('firmwareVersion', {
  orgId: 'uuid',
  model: 'text',
  version: 'text',
  tag: 'text',
  channel: 'text',
  reported: 'jsonb',
  minVersion: 'text',
  imageId: 'uuid',
  createdAt: 'timestamptz',
})

/**
 * Inserts catalog entries. An existing entry of the same image takes the new tag, channel, strings and lowest version.
 * @returns The existing entries of another image, unchanged.
 */
export async function insertVersions(
  tx: Tx,
  scope: OrgScope,
  versions: readonly CatalogVersion[],
): Promise<{ readonly model: string; readonly version: string }[]> {
  const written = await insertRows(tx, versionColumns, versions, {
    every: { orgId: scope.orgId },
    tail: sql<{ model: string }>`
      on conflict (org_id, model, version) do update set tag = excluded.tag, channel = excluded.channel,
        reported = excluded.reported, min_version = excluded.min_version
        where firmware_version.image_id = excluded.image_id
      returning model`,
  })
  const models = new Set(written.map(({ model }) => model))
  return versions.filter(({ model }) => !models.has(model))
}

/**
 * Finds a version, other than `version`, of one of the models that a device reports by one of the strings. Until `tx`
 * ends no other transaction adds versions, so that a string never belongs to two of them.
 */
export async function findOtherVersion(
  tx: Tx,
  scope: OrgScope,
  { models, version, reported }: { readonly models: readonly string[] } & Pick<CatalogVersion, 'version' | 'reported'>,
): Promise<(Pick<CatalogVersion, 'model' | 'version'> & { readonly said: string }) | undefined> {
  await sql`select pg_advisory_xact_lock(hashtextextended('firmware ' || ${scope.orgId}::text, 0))`.execute(tx)
  const { rows } = await sql<{ model: string; version: string; said: string }>`
    select other.model, other.version, said.text as said
    from firmware_version other
    cross join unnest(${[version, ...reported]}::text[]) said (text)
    where other.org_id = ${scope.orgId} and other.model = ${anyOf(models)} and other.version <> ${version}
      and (other.version = said.text or jsonb_exists(other.reported, said.text))
    order by other.model, other.version limit 1
  `.execute(tx)
  return rows[0]
}

/** Locks the row against upgrades that are about to use the image (see lockImages) and against a concurrent delete. */
export async function lockImageForDelete(tx: Tx, scope: OrgScope, imageId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('firmwareImage')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', imageId)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Locks images until `tx` ends, so that none is deleted while an upgrade to it is written.
 * @returns The ids that exist.
 */
export async function lockImages(tx: Tx, scope: InOrg, imageIds: readonly string[]): Promise<string[]> {
  const rows = await tx
    .selectFrom('firmwareImage')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(imageIds))
    .orderBy('id')
    .forShare()
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns that an upgrade has yet to give a device the image, or that a command which has not ended will download it. */
export async function findImageUser(tx: Tx, scope: OrgScope, imageId: string): Promise<string | null> {
  const upgrade = await tx
    .selectFrom('deviceUpgrade')
    .select('orgUpgradeId')
    .where('orgId', '=', scope.orgId)
    .where((eb) => eb.or([eb('imageId', '=', imageId), sql<boolean>`jsonb_exists(later_images, ${imageId})`]))
    .where('orgUpgradeId', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  const upgradeId = upgrade?.orgUpgradeId ?? null
  if (upgradeId !== null) return usedByUpgrade(upgradeId)
  const command = await tx
    .selectFrom('deviceCommand')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('kind', 'in', ['upgrade', 'stage'])
    .where(isOpen)
    .where('imageId', '=', imageId)
    .limit(1)
    .executeTakeFirst()
  return command === undefined ? null : usedByCommand('a device')
}

/** The image's catalog entries are deleted in cascade. */
export async function deleteImage(tx: Tx, scope: OrgScope, imageId: string): Promise<void> {
  await tx.deleteFrom('firmwareImage').where('orgId', '=', scope.orgId).where('id', '=', imageId).execute()
}
