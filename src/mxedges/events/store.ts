import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { MxedgeEventTable } from '../../events/tables.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { counts, eventSorts, searchFilters } from './filters.ts'

export type MxedgeEventRecord = Selectable<MxedgeEventTable>

const member = (name: string): Column => column(sql`mxedge_event.event ->> ${sql.lit(name)}`)

const columns = {
  timestamp: column(sql`mxedge_event.created_at`),
  type: column(sql`mxedge_event.type`),
  org_id: column(sql`mxedge_event.org_id`),
  site_id: column(sql`mxedge_event.site_id`),
  mxedge_id: column(sql`mxedge_event.mxedge_id`),
  mxcluster_id: column(sql`mxedge_event.mxcluster_id`),
  severity: member('severity'),
  mxedge_name: member('mxedge_name'),
  mac: member('mac'),
  service: member('service'),
  component: member('component'),
  package: member('package'),
  from_version: member('from_version'),
  to_version: member('to_version'),
  text: member('text'),
  audit_id: member('audit_id'),
  device_type: member('device_type'),
} satisfies Columns<typeof searchFilters> & Record<EventSort | EventDistinct, Column>

/** The events of a time range that satisfy all conditions. */
export interface EventFilter extends TimeRange {
  readonly conditions: Conditions<typeof searchFilters>
}

/** Selects events of appliances that belonged to the scope's sites at the time of the event, with one more value. */
function selectEvents(
  reader: Reader,
  scope: SitesScope,
  { filter: { start, end, conditions }, value }: { readonly filter: EventFilter; readonly value: RawBuilder<unknown> },
) {
  return reader
    .selectFrom('mxedgeEvent')
    .selectAll()
    .select(value.as('value'))
    .where('orgId', '=', scope.orgId)
    .where('createdAt', '>=', start)
    .where('createdAt', '<=', end)
    .where(inSites(scope, sql.ref('mxedge_event.site_id')))
    .where(allHold(conditionsOn<typeof searchFilters>(columns, conditions)))
}

type EventSort = (typeof eventSorts)[number]

export interface EventSearch extends EventFilter {
  readonly sort: Sort<EventSort>
}

/** Lists events by the field of the sort; by time, and by id within one instant. */
export function searchEvents(
  reader: Reader,
  scope: SitesScope,
  { sort: { by, direction }, page, ...filter }: EventSearch & { readonly page: Page },
): Promise<Paged<MxedgeEventRecord>> {
  const hits = selectEvents(reader, scope, { filter, value: columns[by].value })
  const sizes = sizesOf(sql`hit.event_bytes`)
  const order = by === 'timestamp' ? ['created_at', 'id'] : ['value', 'id']
  return pageOf<MxedgeEventRecord>(reader, { hits, order, direction, sizes }, page)
}

export type EventDistinct = (typeof counts)[number]

/** Counts the events for each value. */
export function countEvents(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, page, ...filter }: EventFilter & Page & { readonly distinct: EventDistinct },
): Promise<Counts> {
  const hits = selectEvents(reader, scope, { filter, value: columns[distinct].value })
  return countsOf(reader, hits, { field: sql`hit.value`, limit, page })
}
