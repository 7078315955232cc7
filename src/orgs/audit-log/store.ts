import { type Selectable, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { AuditLogTable } from '../../events/tables.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import type { Db } from '../../platform/database/db.ts'
import type { logCounts, logFilters, logSorts } from './filters.ts'

export type AuditRecord = Selectable<AuditLogTable>

/** The records of a time range that satisfy all conditions. */
export interface AuditFilter extends TimeRange {
  readonly conditions: Conditions<typeof logFilters>
}

export interface AuditSearch extends AuditFilter, Page {
  readonly sort: Sort<(typeof logSorts)[number]>
}

const columns = {
  id: column(sql`audit_log.id`),
  timestamp: column(sql`audit_log.created_at`),
  admin_id: column(sql`audit_log.admin_id`),
  admin_name: column(sql`audit_log.admin_name`),
  org_id: column(sql`audit_log.org_id`),
  site_id: column(sql`audit_log.site_id`),
  site_name: column(sql`audit_log.site_name`),
  device_id: column(sql`audit_log.device_id`),
  for_site: column(sql`audit_log.site_id is not null`),
  message: column(sql`audit_log.message`),
  src_ip: column(sql`audit_log.src_ip`),
  user_agent: column(sql`audit_log.user_agent`),
} satisfies Columns<typeof logFilters> & Record<(typeof logSorts | typeof logCounts)[number], Column>

/** Lists the records by the field of the sort; by time, and by id within one instant. */
export function listAuditLog(
  db: Db,
  scope: SitesScope,
  { sort: { by, direction }, ...filter }: AuditSearch,
): Promise<Paged<AuditRecord>> {
  const hits = matching(db, scope, filter).selectAll().select(columns[by].value.as('sorted'))
  const order = by === 'timestamp' ? ['created_at', 'id'] : ['sorted', 'id']
  return pageOf<AuditRecord>(db, { hits, order, direction, sizes: sizesOf(sql`hit.bytes`) }, filter)
}

function matching(db: Db, scope: SitesScope, { start, end, conditions }: AuditFilter) {
  return db
    .selectFrom('auditLog')
    .where('orgId', '=', scope.orgId)
    .where('createdAt', '>=', start)
    .where('createdAt', '<=', end)
    .where(inSites(scope, sql.ref('audit_log.site_id')))
    .where(allHold(conditionsOn<typeof logFilters>(columns, conditions)))
}

export interface AuditCount extends AuditFilter, Page {
  readonly distinct: (typeof logCounts)[number]
}

/**
 * Counts the records of each admin, message or site, the most frequent first, and returns how many different values
 * there are.
 */
export function countAuditLog(
  db: Db,
  scope: SitesScope,
  { distinct, limit, page, ...filter }: AuditCount,
): Promise<Counts> {
  const hits = matching(db, scope, filter).select(sql`${columns[distinct].value}::text`.as('value'))
  return countsOf(db, hits, { field: sql`hit.value`, limit, page })
}
