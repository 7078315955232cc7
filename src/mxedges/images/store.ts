import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'

/** Names of the files by their number, 1 to 3. */
export type ImageNames = ReadonlyMap<number, string>

/** Returns the names for each appliance that has pictures. */
export async function findImages(
  reader: Reader,
  scope: InOrg,
  mxedgeIds: readonly string[],
): Promise<ReadonlyMap<string, ImageNames>> {
  const rows = await reader
    .selectFrom('mxedgeImage')
    .select(['mxedgeId', 'number', 'name'])
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', anyOf(mxedgeIds))
    .orderBy('number')
    .execute()
  const images = new Map<string, Map<number, string>>()
  for (const { mxedgeId, number, name } of rows)
    images.set(mxedgeId, (images.get(mxedgeId) ?? new Map<number, string>()).set(number, name))
  return images
}

export interface ImageSlot {
  readonly mxedgeId: string
  /** 1 to 3. */
  readonly number: number
}

/** Returns the size of the picture's file; 0 if there is none, or if it has not been measured. */
export async function getImageBytes(reader: Reader, scope: InOrg, { mxedgeId, number }: ImageSlot): Promise<number> {
  const row = await reader
    .selectFrom('mxedgeImage')
    .select('bytes')
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', mxedgeId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.bytes ?? 0
}

/**
 * Needs lockMxedge() in the same transaction. @returns The name of the deleted picture's file; null if there was
 * none.
 */
export async function deleteImageRow(tx: Tx, scope: InOrg, { mxedgeId, number }: ImageSlot): Promise<string | null> {
  const row = await tx
    .deleteFrom('mxedgeImage')
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', mxedgeId)
    .where('number', '=', number)
    .returning('name')
    .executeTakeFirst()
  return row?.name ?? null
}

export interface NewImage extends ImageSlot {
  readonly name: string
  readonly bytes: number
  readonly width: number
  readonly height: number
  readonly at: Date
}

/** Needs lockMxedge() in the same transaction, and a free number. */
export async function insertImageRow(tx: Tx, scope: InOrg, { at, ...image }: NewImage): Promise<void> {
  await tx
    .insertInto('mxedgeImage')
    .values({ orgId: scope.orgId, ...image, createdAt: at })
    .execute()
}

/** Returns those of `names` that are pictures of any organization's appliances: files have no tenant. */
export async function filterKnownMxedgeImages(reader: Reader, names: readonly string[]): Promise<string[]> {
  const rows = await reader.selectFrom('mxedgeImage').select('name').where('name', '=', anyOf(names)).execute()
  return rows.map(({ name }) => name)
}
