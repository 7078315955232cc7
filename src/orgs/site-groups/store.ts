import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { OrgScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import { notFound } from '../../platform/errors.ts'
import type { SiteGroupTable } from '../tables.ts'
import type { SiteGroup } from './site-group.ts'

type SiteGroupRow = Selectable<SiteGroupTable>

/**
 * Selects groups with their sites. A caller who may see only some sites sees the groups of these sites, and only these
 * sites in them.
 */
function groupsOf(scope: SitesScope, id: string | null): RawBuilder<SiteGroup> {
  const { orgId, siteIds } = scope
  return sql<SiteGroup>`
    select site_group.*, coalesce(members.site_ids, '[]') as site_ids
    from site_group left join (
      select named.id as group_id, json_agg(distinct site.id) as site_ids
      from site cross join lateral jsonb_array_elements_text(site.doc -> 'sitegroup_ids') as named (id)
      where site.org_id = ${orgId} and jsonb_typeof(site.doc -> 'sitegroup_ids') = 'array'
        and ${inSites(scope, sql`site.id`)}
      group by 1) as members on members.group_id = site_group.id::text
    where site_group.org_id = ${orgId}
      and ${id === null ? sql`true` : sql`site_group.id = ${id}`}
      and ${siteIds === 'all' ? sql`true` : sql`members.site_ids is not null`}`
}

/** Lists groups in the order of their creation. */
export function listSiteGroups(reader: Reader, scope: SitesScope, page: Page): Promise<Paged<SiteGroup>> {
  const hits = groupsOf(scope, null)
  const bytes = sql`octet_length(hit.doc::text) + octet_length(hit.site_ids::text)`
  return pageOf<SiteGroup>(reader, { hits, sizes: sizesOf(bytes) }, page)
}

export async function getSiteGroup(reader: Reader, scope: SitesScope, id: string): Promise<SiteGroup> {
  const { rows } = await groupsOf(scope, id).execute(reader)
  const [group] = rows
  if (group === undefined) throw notFound(id)
  return group
}

/** Does the same as getSiteGroup(), and locks the row against other changes of the group itself until `tx` ends. */
export async function lockSiteGroup(tx: Tx, scope: OrgScope, id: string): Promise<SiteGroup> {
  const row = await tx
    .selectFrom('siteGroup')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return getSiteGroup(tx, scope, id)
}

type NewSiteGroup = Pick<SiteGroupRow, 'id' | 'name' | 'doc'> & { readonly at: Date }

export async function insertSiteGroup(tx: Tx, scope: OrgScope, { id, name, doc, at }: NewSiteGroup): Promise<void> {
  await tx
    .insertInto('siteGroup')
    .values({ orgId: scope.orgId, id, name, doc: documentText(doc), createdAt: at, modifiedAt: at })
    .execute()
}

export async function updateSiteGroupRow(tx: Tx, scope: OrgScope, { id, name, doc, at }: NewSiteGroup): Promise<void> {
  await tx
    .updateTable('siteGroup')
    .set({ name, doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteSiteGroupRow(tx: Tx, scope: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('siteGroup').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

export interface Membership {
  readonly groupId: string
  /** All sites that the group is to have, without duplicates. */
  readonly siteIds: readonly string[]
  readonly at: Date
}

/**
 * Updates `sitegroup_ids` of the organization's sites so that exactly these sites are in the group. Sites are locked in
 * the order of their ids; unchanged sites are not written.
 * @throws AppError not_found for a site that the organization does not have.
 */
export async function updateMembers(tx: Tx, scope: OrgScope, { groupId, siteIds, at }: Membership): Promise<void> {
  const sites = await tx
    .selectFrom('site')
    .select(['id', sql<boolean>`coalesce(doc -> 'sitegroup_ids' ? ${groupId}, false)`.as('isMember')])
    .where('orgId', '=', scope.orgId)
    .where((eb) =>
      eb.or([eb('id', '=', anyOf(siteIds)), sql<boolean>`coalesce(doc -> 'sitegroup_ids' ? ${groupId}, false)`]),
    )
    .orderBy('id')
    .forUpdate()
    .execute()
  const known = new Set(sites.map(({ id }) => id))
  const unknown = siteIds.find((id) => !known.has(id))
  if (unknown !== undefined) throw notFound(unknown)
  const wanted = new Set(siteIds)
  const joining = sites.filter(({ id, isMember }) => wanted.has(id) && !isMember)
  const leaving = sites.filter(({ id, isMember }) => !wanted.has(id) && isMember)
  const ids = sql`coalesce(doc -> 'sitegroup_ids', '[]')`
  const changes = [
    { some: joining, to: sql`${ids} || to_jsonb(${groupId}::text)` },
    { some: leaving, to: sql`${ids} - ${groupId}::text` },
  ]
  for (const { some, to } of changes)
    if (some.length > 0)
      await sql`
        update site set doc = jsonb_set(doc, '{sitegroup_ids}', ${to}), modified_at = ${at}
        where org_id = ${scope.orgId} and id = ${anyOf(some.map(({ id }) => id))}`.execute(tx)
}
