import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Page, Paged } from '../../http/lists.ts'
import type { Counts } from '../../http/search.ts'
import { smallRows } from '../../http/store-bounds.ts'
import { countsOf, pageOf } from '../../http/store-pages.ts'
import { type Reader, containing } from '../../platform/db.ts'
import { type FoundSite, type SiteCount, type SiteOrder, type SiteSearch, flagSettings } from './site-search.ts'

/**
 * Selects sites with their flags as columns. Of the settings here, only `auto_upgrade` is also taken from the
 * organization.
 */
function everySite(scope: SitesScope): RawBuilder<unknown> {
  const columns = Object.entries(flagSettings).map(([name, { path, otherwise }]) => {
    const [root] = path
    const doc = root === 'auto_upgrade' ? sql`jsonb_build_object('auto_upgrade', auto_upgrade)` : sql`setting`
    return sql`coalesce(${doc} #> ${[...path]}::text[] = 'true', ${otherwise}::boolean) as ${sql.ref(name)}`
  })
  const settings = sql`
    select site.id, site.org_id, site.name, site.timezone, left(site.doc ->> 'country_code', 100) as country_code, site.modified_at,
      coalesce(own.doc, '{}') as setting, coalesce(own.doc -> 'auto_upgrade', of_org.doc -> 'auto_upgrade') as auto_upgrade
    from site
      left join site_setting own on own.org_id = site.org_id and own.site_id = site.id
      left join org_setting of_org on of_org.org_id = site.org_id
    where site.org_id = ${scope.orgId} and ${inSites(scope, sql`site.id`)}`
  return sql`
    select id, org_id, name, timezone, country_code, modified_at,
      coalesce(left(auto_upgrade ->> 'version', 100), 'stable') as auto_upgrade_version, ${sql.join(columns)}
    from (${settings}) as site`
}

function hitsOf(scope: SitesScope, search: SiteSearch): RawBuilder<unknown> {
  const { id, name, countryCode, autoUpgradeVersion } = search
  const conditions = [
    sql`true`,
    ...(id === null ? [] : [sql`id = ${id}`]),
    ...(name === null ? [] : [sql`name ilike ${containing(name)}`]),
    ...(countryCode === null ? [] : [sql`country_code = ${countryCode}`]),
    ...(autoUpgradeVersion === null ? [] : [sql`auto_upgrade_version = ${autoUpgradeVersion}`]),
    ...Object.entries(search.flags).map(([flag, on]) => sql`${sql.ref(flag)} = ${on}`),
  ]
  return sql`select * from (${everySite(scope)}) as every_site where ${sql.join(conditions, sql` and `)}`
}

export function searchSites(
  reader: Reader,
  scope: SitesScope,
  { search, order, page }: { readonly search: SiteSearch; readonly order: SiteOrder; readonly page: Page },
): Promise<Paged<FoundSite>> {
  const hits = hitsOf(scope, search)
  const by = order.by === 'timestamp' ? 'modified_at' : order.by
  const { direction } = order
  return pageOf<FoundSite>(reader, { hits, order: [by, 'id'], direction, nullsLast: true, sizes: smallRows }, page)
}

/** Counts the sites for each value of `distinct`; the values are texts. */
export function countSites(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit }: { readonly distinct: SiteCount; readonly limit: number },
): Promise<Counts> {
  return countsOf(reader, everySite(scope), { field: sql`${sql.ref(distinct)}::text`, limit })
}
