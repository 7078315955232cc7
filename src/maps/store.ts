import { sql } from 'kysely'
import type { SiteScope } from '../access/scope.ts'
import type { Conditions } from '../http/lists/filters.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { sizesOf } from '../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../http/lists/store-filters.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import { type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { documentText } from '../platform/sealing/document-column.ts'
import type { mapFilters } from './filters.ts'
import type { SiteMap } from './map.ts'

/** Lists maps of the scope's site by id, which is the order of creation where the service chooses the id. */
export function listMaps(
  reader: Reader,
  scope: SiteScope,
  { conditions = {}, page }: { readonly conditions?: Conditions<typeof mapFilters>; readonly page: Page },
): Promise<Paged<SiteMap>> {
  const columns = { mapstack_id: column(sql`lower(site_map.doc ->> 'mapstack_id')`) }
  const hits = selectMaps(reader, scope).where(allHold(conditionsOn<typeof mapFilters>(columns, conditions)))
  return pageOf<SiteMap>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.doc::text)`) }, page)
}

export function findMap(reader: Reader, scope: SiteScope, mapId: string): Promise<SiteMap | undefined> {
  return selectMaps(reader, scope).where('id', '=', mapId).executeTakeFirst()
}

/** Does the same as findMap(), and locks the row against other changes until `tx` ends. */
export function lockMap(tx: Tx, scope: SiteScope, mapId: string): Promise<SiteMap | undefined> {
  return selectMaps(tx, scope).where('id', '=', mapId).forUpdate().executeTakeFirst()
}

/** Does the same as findMap(); the map can't be deleted until `tx` ends. */
export function shareMapOfSite(tx: Tx, scope: SiteScope, mapId: string): Promise<SiteMap | undefined> {
  return selectMaps(tx, scope).where('id', '=', mapId).forKeyShare().executeTakeFirst()
}

function selectMaps(reader: Reader, scope: SiteScope) {
  return reader.selectFrom('siteMap').selectAll().where('orgId', '=', scope.orgId).where('siteId', '=', scope.siteId)
}

/** A stored picture, as rows describe it. */
export interface MapImage {
  readonly name: string
  readonly sizeBytes: number
}

export interface NewMap {
  readonly id: string
  readonly doc: Record<string, unknown>
  readonly image: MapImage | null
  readonly at: Date
}

/** @returns Undefined if any site of the organization has a map of that id already. */
export function insertMap(
  tx: Tx,
  { orgId, siteId }: SiteScope,
  { id, doc, image, at }: NewMap,
): Promise<SiteMap | undefined> {
  return tx
    .insertInto('siteMap')
    .values({ orgId, siteId, id, doc: documentText(doc), ...imageColumns(image), createdAt: at, modifiedAt: at })
    .onConflict((conflict) => conflict.columns(['orgId', 'id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

export interface MapContent {
  readonly id: string
  readonly doc: Record<string, unknown>
  /** The new picture, where it changes; the former picture's thumbnail is then cleared. */
  readonly image?: MapImage | null
  readonly at: Date
}

export function updateMap(tx: Tx, scope: SiteScope, { id, doc, image, at }: MapContent): Promise<SiteMap> {
  return tx
    .updateTable('siteMap')
    .set({ doc: documentText(doc), modifiedAt: at })
    .$if(image !== undefined, (query) =>
      query.set({ ...imageColumns(image ?? null), thumbnail: null, thumbnailBytes: 0, thumbnailFailed: false }),
    )
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function imageColumns(image: MapImage | null): { readonly image: string | null; readonly imageBytes: number } {
  return { image: image?.name ?? null, imageBytes: image?.sizeBytes ?? 0 }
}

export async function deleteMap(tx: Tx, scope: SiteScope, mapId: string): Promise<void> {
  await tx
    .deleteFrom('siteMap')
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where('id', '=', mapId)
    .execute()
}

/** Returns those of `names` that are pictures and thumbnails of any organization's maps: files have no tenant. */
export async function filterKnownMapImages(reader: Reader, names: readonly string[]): Promise<string[]> {
  const rows = await reader
    .selectFrom('siteMap')
    .select(['image', 'thumbnail'])
    .where((eb) => eb.or([eb('image', '=', anyOf(names)), eb('thumbnail', '=', anyOf(names))]))
    .execute()
  return rows.flatMap(({ image, thumbnail }) => [image, thumbnail]).filter((name) => name !== null)
}
