import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort } from '../../http/lists/search.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import {
  type FoundSite,
  type SiteCount,
  type SiteSort,
  flagSettings,
  type siteFilters,
  siteFlags,
} from './site-search.ts'
import { recordOf } from '../../platform/records.ts'

/**
 * Selects sites with their flags as columns. Among these settings, only `auto_upgrade` is inherited from the
 * organization.
 */
function everySite(scope: SitesScope): RawBuilder<unknown> {
  const flags = Object.entries(flagSettings).map(([name, { path, otherwise }]) => {
    const [root] = path
    const doc = root === 'auto_upgrade' ? sql`jsonb_build_object('auto_upgrade', auto_upgrade)` : sql`setting`
    return sql`coalesce(${doc} #> ${[...path]}::text[] = 'true', ${otherwise}::boolean) as ${sql.ref(name)}`
  })
  const settings = sql`
    select site.id, site.org_id, site.name, site.timezone, left(site.doc ->> 'country_code', 100) as country_code, site.modified_at,
      coalesce(own.doc, '{}') as setting, coalesce(own.auto_upgrade, of_org.auto_upgrade) as auto_upgrade
    from site
      left join site_setting own on own.org_id = site.org_id and own.site_id = site.id
      left join org_setting of_org on of_org.org_id = site.org_id
    where site.org_id = ${scope.orgId} and ${inSites(scope, sql`site.id`)}`
  return sql`
    select id, org_id, name, timezone, country_code, modified_at,
      coalesce(left(auto_upgrade ->> 'version', 100), 'stable') as auto_upgrade_version, ${sql.join(flags)}
    from (${settings}) as site`
}

const columns = {
  id: column(sql`id`),
  site_id: column(sql`id`),
  org_id: column(sql`org_id`),
  name: column(sql`name`),
  timezone: column(sql`timezone`),
  timestamp: column(sql`modified_at`),
  country_code: column(sql`country_code`),
  auto_upgrade_version: column(sql`auto_upgrade_version`),
  ...recordOf(siteFlags, (name) => column(sql.ref(name))),
} satisfies Columns<typeof siteFilters> & Record<SiteSort | SiteCount, Column>

/** The sites with the column `sorted`. */
function hitsOf(
  scope: SitesScope,
  conditions: Conditions<typeof siteFilters>,
  by: SiteSort = 'id',
): RawBuilder<unknown> {
  const where = [sql`true`, ...conditionsOn<typeof siteFilters>(columns, conditions)]
  return sql`select *, ${columns[by].value} as sorted from (${everySite(scope)}) as every_site
    where ${sql.join(where, sql` and `)}`
}

export interface SiteSearch {
  readonly conditions: Conditions<typeof siteFilters>
  readonly sort: Sort<SiteSort>
}

export function searchSites(
  reader: Reader,
  scope: SitesScope,
  { conditions, sort: { by, direction }, page }: SiteSearch & { readonly page: Page },
): Promise<Paged<FoundSite>> {
  const hits = hitsOf(scope, conditions, by)
  return pageOf<FoundSite>(
    reader,
    { hits, order: ['sorted', 'id'], direction, nullsLast: true, sizes: smallRows },
    page,
  )
}

/** Counts the sites for each value of `distinct`; the values are texts. */
export function countSites(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, page }: Page & { readonly distinct: SiteCount },
): Promise<Counts> {
  return countsOf(reader, everySite(scope), { field: sql`${columns[distinct].value}::text`, limit, page })
}
