import { type Selectable, sql } from 'kysely'
import type { OrgScope, ReadScope, SiteScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists.ts'
import { sizesOf } from '../http/store-bounds.ts'
import { pageOf } from '../http/store-pages.ts'
import { type Db, type Reader, type Tx, countRows } from '../platform/db.ts'
import { documentText } from '../platform/sealing/document-column.ts'
import { notFound } from '../platform/errors.ts'
import type { SiteTable } from '../access/tables.ts'

export type Site = Selectable<SiteTable>

export interface SiteContent {
  readonly name: string
  /** IANA zone name. */
  readonly timezone: string
  readonly doc: Record<string, unknown>
  readonly at: Date
}

/** Lists sites by name with their total, in one query. */
export function listSites(db: Db, scope: ReadScope, page: Page): Promise<Paged<Site>> {
  const hits = db
    .selectFrom('site')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('site.id')))
  return pageOf<Site>(db, { hits, order: ['name', 'id'], sizes: sizesOf(sql`hit.doc_bytes`) }, page)
}

export async function getSite(reader: Reader, scope: SiteScope): Promise<Site> {
  const site = await selectSite(reader, scope).executeTakeFirst()
  if (site === undefined) throw notFound(scope.siteId)
  return site
}

/** Returns the site, locked against other changes until `tx` ends. */
export async function lockSite(tx: Tx, scope: SiteScope): Promise<Site> {
  const site = await selectSite(tx, scope).forUpdate().executeTakeFirst()
  if (site === undefined) throw notFound(scope.siteId)
  return site
}

function selectSite(reader: Reader, scope: SiteScope) {
  return reader.selectFrom('site').selectAll().where('orgId', '=', scope.orgId).where('id', '=', scope.siteId)
}

/** Counts the sites of the organization. It stays true until `tx` ends after lockAdditions(). */
export function countSites(tx: Tx, { orgId }: OrgScope): Promise<number> {
  return countRows(tx.selectFrom('site').where('orgId', '=', orgId))
}

export async function insertSite(tx: Tx, scope: OrgScope, site: SiteContent & { readonly id: string }): Promise<Site> {
  const { id, name, timezone, doc, at } = site
  return tx
    .insertInto('site')
    .values({ orgId: scope.orgId, id, name, timezone, doc: documentText(doc), createdAt: at, modifiedAt: at })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function updateSite(tx: Tx, scope: SiteScope, { name, timezone, doc, at }: SiteContent): Promise<Site> {
  return tx
    .updateTable('site')
    .set({ name, timezone, doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', scope.siteId)
    .returningAll()
    .executeTakeFirstOrThrow()
}
