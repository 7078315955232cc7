import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { OrgScope, ReadScope, SiteScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Db, type Reader, type Transactional, type Tx, countRows } from '../../platform/database/db.ts'
import { type DocumentText, documentText } from '../../platform/sealing/document-column.ts'
import { notFound } from '../../platform/errors.ts'
import { executeAtCommit } from '../../platform/database/last-statement.ts'
import { compileValues, statement } from '../../platform/database/statement.ts'
import type { SiteTable, SiteVersion } from '../../access/tables.ts'
import { type NewAuditRecord, auditedChange } from '../../events/store-audits.ts'

export type Site = Selectable<SiteTable>
export type VersionedSite = Site & SiteVersion

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

const siteStatement = (lock: RawBuilder<unknown>) =>
  statement<SiteScope, Site>(
    (param) => sql`select * from site where org_id = ${param('orgId')} and id = ${param('siteId')} ${lock}`,
  )
const findSite = siteStatement(sql``)
const findAndLockSite = siteStatement(sql`for update`)
const findAndLockSiteAlone = siteStatement(sql`for no key update`)

export async function getSite(reader: Reader, scope: SiteScope): Promise<Site> {
  const [site] = await findSite(reader, scope)
  if (site === undefined) throw notFound(scope.siteId)
  return site
}

/** Returns the site, locked against other changes until `tx` ends. */
export async function lockSite(tx: Tx, scope: SiteScope): Promise<Site> {
  const [site] = await findAndLockSite(tx, scope)
  if (site === undefined) throw notFound(scope.siteId)
  return site
}

/** Does the same for a change of the site's own row: others may add devices to it meanwhile; see lockOrgAlone(). */
export async function lockSiteAlone(tx: Tx, scope: SiteScope): Promise<Site> {
  const [site] = await findAndLockSiteAlone(tx, scope)
  if (site === undefined) throw notFound(scope.siteId)
  return site
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

interface SiteValues extends Omit<SiteContent, 'doc'> {
  readonly orgId: string
  readonly siteId: string
  readonly doc: DocumentText
}

const compileUpdate = compileValues<SiteValues, Site>(
  (param) => sql`
    update site set name = ${param('name')}, timezone = ${param('timezone')}, doc = ${param('doc')}, modified_at = ${param('at')}
    where org_id = ${param('orgId')} and id = ${param('siteId')} returning *
  `,
)

interface VersionValues extends SiteValues {
  readonly version: string
  readonly record: NewAuditRecord
}

const updateVersion = auditedChange<VersionValues, VersionedSite>(
  (param) => sql`
    update site set name = ${param('name')}, timezone = ${param('timezone')}, doc = ${param('doc')}, modified_at = ${param('at')}
    where org_id = ${param('orgId')} and id = ${param('siteId')} and xmin = ${param('version')}::xid
    returning *, xmin::text as version
  `,
)

/**
 * Updates a site that was read without a lock, unless it has changed since, and inserts the record of the change.
 * @returns The row with its new version; undefined if the site has changed or is gone.
 */
export function updateSiteVersion(
  ctx: Transactional,
  { orgId, id: siteId, version }: SiteVersion,
  { site, record }: { readonly site: SiteContent; readonly record: NewAuditRecord },
): Promise<VersionedSite | undefined> {
  return updateVersion(ctx, { ...site, orgId, siteId, version, record, doc: documentText(site.doc) })
}

/** Updates a locked site with the commit. @returns A function that returns the row after the commit. */
export function updateSiteAtCommit(tx: Tx, { orgId, siteId }: SiteScope, site: SiteContent): () => Site {
  const rows = executeAtCommit(tx, compileUpdate(tx, { ...site, orgId, siteId, doc: documentText(site.doc) }))
  return () => {
    const [updated] = rows()
    if (updated === undefined) throw notFound(siteId)
    return updated
  }
}
