import { type Selectable, sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists.ts'
import type { Counts } from '../http/search.ts'
import { sizesOf } from '../http/store-bounds.ts'
import { countsOf, pageOf } from '../http/store-pages.ts'
import { type Db, containing } from '../platform/db.ts'
import type { AuditLogTable } from '../events/tables.ts'

export type AuditRecord = Selectable<AuditLogTable>

export interface AuditMatch {
  readonly start: Date
  readonly end: Date
  readonly siteId?: string
  readonly adminId?: string
  /** Part of the name or the address, in any case. */
  readonly adminName?: string
  /** Part of the message, in any case. */
  readonly message?: string
}

export interface AuditFilter extends AuditMatch, Page {
  readonly sort: { readonly by: 'created_at' | 'site_id' | 'admin_id'; readonly direction: 'asc' | 'desc' }
}

/** Lists the records of a time range. */
export function listAuditLog(db: Db, scope: SitesScope, filter: AuditFilter): Promise<Paged<AuditRecord>> {
  const hits = matching(db, scope, filter).selectAll()
  const { by, direction } = filter.sort
  return pageOf<AuditRecord>(db, { hits, order: [by, 'id'], direction, sizes: sizesOf(sql`hit.bytes`) }, filter)
}

function matching(db: Db, scope: SitesScope, match: AuditMatch) {
  let hits = db
    .selectFrom('auditLog')
    .where('orgId', '=', scope.orgId)
    .where('createdAt', '>=', match.start)
    .where('createdAt', '<=', match.end)
    .where(inSites(scope, sql.ref('audit_log.site_id')))
  if (match.siteId !== undefined) hits = hits.where('siteId', '=', match.siteId)
  if (match.adminId !== undefined) hits = hits.where('adminId', '=', match.adminId)
  if (match.adminName !== undefined) hits = hits.where('adminName', 'ilike', containing(match.adminName))
  if (match.message !== undefined) hits = hits.where('message', 'ilike', containing(match.message))
  return hits
}

export interface AuditCount extends AuditMatch {
  readonly distinct: 'admin_id' | 'admin_name' | 'message' | 'site_id'
  readonly limit: number
}

/**
 * Counts the records of each admin, message or site, the most frequent first, and returns how many different values
 * there are.
 */
export function countAuditLog(db: Db, scope: SitesScope, { distinct, limit, ...match }: AuditCount): Promise<Counts> {
  const hits = matching(db, scope, match).select(sql.ref(distinct).as(distinct))
  return countsOf(db, hits, { field: sql`${sql.ref(distinct)}::text`, limit })
}
