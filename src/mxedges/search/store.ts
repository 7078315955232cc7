import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort } from '../../http/lists/search.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { Mxedge } from '../mxedge.ts'
import { selectMxedges } from '../store.ts'
import type { countFilters, counts, searchFilters, searchSorts } from './filters.ts'

const session = sql`mxedge_session session where session.org_id = mxedge.org_id and session.mxedge_id = mxedge.id`
const services = sql`(select jsonb_array_elements(session.report -> 'services') as service from ${session}) reported`

const installed = sql`coalesce((select bool_or(service ->> 'version' is not null) from ${services}
  where service ->> 'name' = 'tunterm'), false)`
const fips = sql`mxedge.doc #> '{mxedge_mgmt,fips_enabled}'`

/** `distro` and `tunterm_version` are the last values that the agent of the appliance has reported. */
const columns = {
  mxedge_id: column(sql`mxedge.id`),
  id: column(sql`mxedge.id`),
  org_id: column(sql`mxedge.org_id`),
  site_id: column(sql`mxedge.site_id`),
  mxcluster_id: column(sql`mxedge.mxcluster_id`),
  model: column(sql`mxedge.model`),
  name: column(sql`mxedge.name`),
  hostname: column(sql`mxedge.name`),
  mac: column(sql`mxedge.mac`),
  serial: column(sql`coalesce(mxedge.serial, (select session.facts ->> 'serial' from ${session}))`),
  timestamp: column(sql`mxedge.modified_at`),
  modified_time: column(sql`mxedge.modified_at`),
  created_time: column(sql`mxedge.created_at`),
  for_site: column(sql`(mxedge.site_id is not null)`),
  status: column(sql`case when (select session.connected from ${session}) then 'connected' else 'disconnected' end`),
  last_seen: column(sql`(select session.last_seen_at from ${session})`),
  // As in the answers, except for the present time, which is the same in all of them.
  uptime: column(sql`(select (session.report ->> 'uptime_s')::float8 - extract(epoch from session.last_seen_at)
    from ${session} and session.connected)`),
  mxagent_registered: column(sql`(mxedge.registered_at is not null)`),
  tunterm_registered: column(sql`(mxedge.registered_at is not null and ${installed})`),
  fips_enabled: column(sql`case when jsonb_typeof(${fips}) = 'boolean' then (${fips})::boolean end`),
  virtualization_type: column(sql`(select session.report #>> '{machine,virtualization}' from ${session})`),
  num_tunnels: column(sql`(select (session.report #>> '{machine,own,num_tunnels}')::float8 from ${session})`),
  idrac_version: column(sql`(select session.report #>> '{machine,own,idrac_version}' from ${session})`),
  distro: column(sql`(select session.facts ->> 'distro' from ${session})`),
  tunterm_version: column(
    sql`(select service ->> 'version' from ${services} where service ->> 'name' = 'tunterm' limit 1)`,
  ),
} satisfies Columns<typeof searchFilters> &
  Record<(typeof searchSorts)[number], Column> &
  Record<(typeof counts)[number], Column>

function hitsOf(
  reader: Reader,
  scope: SitesScope,
  { conditions, value }: { readonly conditions: Conditions<typeof searchFilters>; readonly value: RawBuilder<unknown> },
) {
  return selectMxedges(reader, scope)
    .select(value.as('value'))
    .where(allHold(conditionsOn<typeof searchFilters>(columns, conditions)))
}

export interface MxedgeSearch {
  readonly conditions: Conditions<typeof searchFilters>
  readonly sort: Sort<(typeof searchSorts)[number]>
}

/** `timestamp` is the time of the last change. */
export function searchMxedges(
  reader: Reader,
  scope: SitesScope,
  { conditions, sort: { by, direction }, page }: MxedgeSearch & { readonly page: Page },
): Promise<Paged<Mxedge>> {
  const hits = hitsOf(reader, scope, { conditions, value: columns[by].value })
  return pageOf<Mxedge>(reader, { hits, order: ['value', 'id'], direction, sizes: sizesOf(sql`hit.doc_bytes`) }, page)
}

export interface MxedgeCount extends Page {
  readonly conditions: Conditions<typeof countFilters>
  readonly distinct: (typeof counts)[number]
}

/** Counts the appliances for each value. */
export function countMxedges(
  reader: Reader,
  scope: SitesScope,
  { conditions, distinct, limit, page }: MxedgeCount,
): Promise<Counts> {
  const value = columns[distinct].value
  return countsOf(reader, hitsOf(reader, scope, { conditions, value }), { field: sql`hit.value`, limit, page })
}
