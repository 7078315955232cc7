import { type Selectable, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Page, Paged } from '../../http/lists.ts'
import type { Counts, TimeRange } from '../../http/search.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { countsOf, pageOf } from '../../http/store-pages.ts'
import type { Reader } from '../../platform/db.ts'
import type { MxedgeEventTable } from '../../events/tables.ts'

export type MxedgeEventRecord = Selectable<MxedgeEventTable>

/** A missing filter admits everything. */
export interface EventFilter extends TimeRange {
  readonly mxedgeId?: string
  readonly mxclusterId?: string
  readonly type?: string
  readonly service?: string
  readonly component?: string
}

export interface EventSearch extends EventFilter, Page {
  readonly direction: 'asc' | 'desc'
}

/** Selects events of appliances that belonged to the scope's sites at the time of the event. */
function selectEvents(reader: Reader, scope: SitesScope, filter: EventFilter) {
  const { start, end, mxedgeId, mxclusterId, type, service, component } = filter
  let hits = reader
    .selectFrom('mxedgeEvent')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('createdAt', '>=', start)
    .where('createdAt', '<=', end)
    .where(inSites(scope, sql.ref('mxedge_event.site_id')))
  if (mxedgeId !== undefined) hits = hits.where('mxedgeId', '=', mxedgeId)
  if (mxclusterId !== undefined) hits = hits.where('mxclusterId', '=', mxclusterId)
  if (type !== undefined) hits = hits.where('type', '=', type)
  if (service !== undefined) hits = hits.where(member('service'), '=', service)
  if (component !== undefined) hits = hits.where(member('component'), '=', component)
  return hits
}

function member(name: string) {
  return sql<string>`event ->> ${sql.lit(name)}`
}

/** Lists events by time. */
export function searchEvents(
  reader: Reader,
  scope: SitesScope,
  search: EventSearch,
): Promise<Paged<MxedgeEventRecord>> {
  const { direction } = search
  const hits = selectEvents(reader, scope, search)
  const sizes = sizesOf(sql`hit.event_bytes`)
  return pageOf<MxedgeEventRecord>(reader, { hits, order: ['created_at', 'id'], direction, sizes }, search)
}

export type EventDistinct = 'mxcluster_id' | 'mxedge_id' | 'package' | 'type'

/** Counts the events for each value. */
export function countEvents(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, ...filter }: EventFilter & { readonly distinct: EventDistinct; readonly limit: number },
): Promise<Counts> {
  const field = distinct === 'package' ? member('package') : sql.ref(distinct)
  return countsOf(reader, selectEvents(reader, scope, filter), { field, limit })
}
