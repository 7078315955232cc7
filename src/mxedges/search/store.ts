import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import type { Counts } from '../../http/search.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { countsOf, pageOf } from '../../http/store-pages.ts'
import type { Reader } from '../../platform/db.ts'
import type { Mxedge } from '../mxedge.ts'
import { selectMxedges } from '../store.ts'

/** A missing filter admits everything. */
export interface MxedgeFilter {
  readonly id?: string
  readonly siteId?: string
  readonly mxclusterId?: string
  readonly model?: string
  /** True for a filter on values that only the agent of an appliance reports; no appliance has them yet. */
  readonly onlyTold: boolean
}

function hitsOf(reader: Reader, scope: SitesScope, { id, siteId, mxclusterId, model, onlyTold }: MxedgeFilter) {
  let hits = selectMxedges(reader, scope)
  if (id !== undefined) hits = hits.where('id', '=', id)
  if (siteId !== undefined) hits = hits.where('siteId', '=', siteId)
  if (mxclusterId !== undefined) hits = hits.where('mxclusterId', '=', mxclusterId)
  if (model !== undefined) hits = hits.where('model', '=', model)
  return onlyTold ? hits.where(sql<boolean>`false`) : hits
}

export type MxedgeOrder = 'timestamp' | 'name' | 'model' | 'site_id' | 'mxcluster_id'

export interface MxedgeSearch extends MxedgeFilter, Page {
  readonly by: MxedgeOrder
  readonly direction: 'asc' | 'desc'
}

/** `timestamp` is the time of the last change. */
export function searchMxedges(reader: Reader, scope: SitesScope, search: MxedgeSearch): Promise<Paged<Mxedge>> {
  const by = search.by === 'timestamp' ? 'modified_at' : search.by
  const { direction } = search
  const hits = hitsOf(reader, scope, search)
  return pageOf<Mxedge>(reader, { hits, order: [by, 'id'], direction, sizes: sizesOf(sql`hit.doc_bytes`) }, search)
}

export type MxedgeDistinct = 'distro' | 'model' | 'mxcluster_id' | 'site_id' | 'tunterm_version'

/** Counts the appliances for each value. */
export function countMxedges(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, ...filter }: MxedgeFilter & { readonly distinct: MxedgeDistinct; readonly limit: number },
): Promise<Counts> {
  return countsOf(reader, hitsOf(reader, scope, filter), { field: fieldOf(distinct), limit })
}

function fieldOf(distinct: MxedgeDistinct): RawBuilder<unknown> {
  // Only the agent would report these.
  return distinct === 'distro' || distinct === 'tunterm_version' ? sql`null::text` : sql.ref(distinct)
}
