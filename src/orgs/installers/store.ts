import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { SiteTable } from '../../access/tables.ts'
import type { SiteContent } from '../sites/store.ts'
import type { Reach } from './reach.ts'

type Site = Selectable<SiteTable>

/** A site with the names of its groups that exist, in the order of its `sitegroup_ids`. */
export type InstallerSite = Site & { readonly sitegroupNames: readonly string[] }

function reached(scope: SitesScope, { sites }: Pick<Reach, 'sites'>): RawBuilder<boolean> {
  const ofReach =
    sites === null ? sql`true` : sql`(site.created_at >= ${sites.madeSince} or site.id = ${anyOf(sites.extraIds)})`
  return sql<boolean>`site.org_id = ${scope.orgId} and ${inSites(scope, sql`site.id`)} and ${ofReach}`
}

/** Lists sites by name. */
export function listInstallerSites(
  reader: Reader,
  scope: SitesScope,
  { reach, page }: { readonly reach: Reach; readonly page: Page },
): Promise<Paged<InstallerSite>> {
  const hits = sql`
    select site.*, coalesce(named.names, '[]') as sitegroup_names
    from site left join lateral (
      select json_agg(site_group.name order by member.place) as names
      from jsonb_array_elements_text(
        case jsonb_typeof(site.doc -> 'sitegroup_ids') when 'array' then site.doc -> 'sitegroup_ids' else '[]' end
      ) with ordinality as member (id, place)
      join site_group on site_group.org_id = site.org_id and site_group.id::text = member.id
    ) as named on true
    where ${reached(scope, reach)}`
  return pageOf<InstallerSite>(
    reader,
    {
      hits,
      order: ['name', 'id'],
      sizes: sizesOf(sql`hit.doc_bytes + octet_length(hit.sitegroup_names::text)`),
    },
    page,
  )
}

export async function isReachedSite(
  reader: Reader,
  scope: SitesScope,
  { reach, siteId }: { readonly reach: Reach; readonly siteId: string },
): Promise<boolean> {
  const { rows } = await sql`
    select from site where ${reached(scope, reach)} and site.id = ${siteId}`.execute(reader)
  return rows.length > 0
}

/** Identifies a site by its id, or by its exact name. */
export type SiteKey = { readonly id: string } | { readonly name: string }

/** Returns at most two sites, which can't be deleted until `tx` ends. */
export async function shareReachedSites(
  tx: Tx,
  scope: SitesScope,
  { reach, key }: { readonly reach: Reach; readonly key: SiteKey },
): Promise<{ id: string; name: string }[]> {
  const wanted = 'id' in key ? sql`site.id = ${key.id}` : sql`site.name = ${key.name}`
  const { rows } = await sql<{ id: string; name: string }>`
    select site.id, site.name from site where ${reached(scope, reach)} and ${wanted}
    order by site.id limit 2 for key share`.execute(tx)
  return rows
}

/**
 * Locks the sites of the organization that have this name, whether or not the caller may work on them. A `+` in the
 * name matches a space.
 */
export async function lockSitesNamed(tx: Tx, { orgId }: InOrg, name: string): Promise<Site[]> {
  return tx
    .selectFrom('site')
    .selectAll()
    .where('orgId', '=', orgId)
    .where(sql<string>`replace(name, '+', ' ')`, '=', name.replaceAll('+', ' '))
    .orderBy('id')
    .limit(100)
    .forUpdate()
    .execute()
}

/** Lists the groups that have one of these names, by id. */
export function listSiteGroupsNamed(
  reader: Reader,
  { orgId }: InOrg,
  names: readonly string[],
): Promise<{ id: string; name: string }[]> {
  return reader
    .selectFrom('siteGroup')
    .select(['id', 'name'])
    .where('orgId', '=', orgId)
    .where('name', '=', anyOf(names))
    .orderBy('id')
    .execute()
}

/** Updates a site that lockSitesNamed() has locked. */
export function updateSiteRow(
  tx: Tx,
  { orgId }: InOrg,
  { id, name, timezone, doc, at }: SiteContent & { readonly id: string },
): Promise<Site> {
  return tx
    .updateTable('site')
    .set({ name, timezone, doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
