import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { systemEvents } from '../../events/system-event-types.ts'
import type { SystemEventTable } from '../../events/tables.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { orgCounts, siteCounts, systemFilters, systemSorts } from './filters.ts'

type Filters = typeof systemFilters

/** The events of a time range that satisfy all conditions. */
export interface EventFilter extends TimeRange {
  readonly conditions: Conditions<Filters>
  /** True: only those that concern the organization itself. */
  readonly isOfOrg?: boolean
}

type EventSort = (typeof systemSorts)[number]

export interface EventSearch extends EventFilter {
  readonly sort: Sort<EventSort>
}

export type FoundEvent = Selectable<SystemEventTable>

/** A member of the declaration of each event's type. */
function declared(member: 'category' | 'severity'): Column {
  const byType = Object.entries(systemEvents).map(([type, event]) => sql`when ${type} then ${event[member]}`)
  return column(sql`case event.type ${sql.join(byType, sql` `)} end`)
}

function detail(name: string): Column {
  return column(sql`event.details ->> ${sql.lit(name)}`)
}

type EventField = (typeof orgCounts | typeof siteCounts)[number]

const fields = {
  id: column(sql`event.id`),
  org_id: column(sql`event.org_id`),
  type: column(sql`event.type`),
  text: column(sql`event.text`),
  timestamp: column(sql`event.created_at`),
  scope: column(sql`case when event.site_id is null then 'org' else 'site' end`),
  site_id: column(sql`event.site_id`),
  change_cat: declared('category'),
  severity: declared('severity'),
  metadata: column(sql`event.details::text`),
  mac: detail('mac'),
  ap: column(sql`case when event.details ->> 'device_type' = 'ap' then event.details ->> 'mac' end`),
  apfw: detail('apfw'),
  device_type: detail('device_type'),
  count: column(
    sql`case when jsonb_typeof(event.details -> 'count') = 'number' then (event.details ->> 'count')::numeric end`,
  ),
} satisfies Columns<Filters> & Record<EventSort | EventField, Column>

/** Lists events by the field of the sort, and by id among equal ones. */
export function searchEvents(
  reader: Reader,
  scope: SitesScope,
  { sort, page, ...filter }: EventSearch & { readonly page: Page },
): Promise<Paged<FoundEvent>> {
  const hits = sql`select event.*, ${fields[sort.by].value} as sorted from system_event event
    where ${conditions(scope, filter)}`
  const order = sort.by === 'timestamp' ? ['created_at', 'id'] : ['sorted', 'id']
  return pageOf<FoundEvent>(reader, { hits, order, direction: sort.direction, sizes: smallRows }, page)
}

export interface EventCountQuery extends EventFilter, Page {
  /** A field of events; no event has another one. */
  readonly distinct: string
}

function isField(name: string): name is keyof typeof fields {
  return Object.hasOwn(fields, name)
}

export function countEvents(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, page, ...filter }: EventCountQuery,
): Promise<Counts> {
  if (!isField(distinct)) return Promise.resolve({ rows: [], total: 0 })
  const hits = sql`select ${fields[distinct].value} as value from system_event event where ${conditions(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit, page })
}

function conditions(scope: SitesScope, { start, end, isOfOrg = false, ...filter }: EventFilter): RawBuilder<unknown> {
  return sql.join(
    [
      sql`event.org_id = ${scope.orgId} and event.created_at >= ${start} and event.created_at <= ${end}`,
      inSites(scope, sql`event.site_id`),
      ...(isOfOrg ? [sql`event.site_id is null`] : []),
      ...conditionsOn<Filters>(fields, filter.conditions),
    ],
    sql` and `,
  )
}
