import { type Selectable, sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Db, anyOf, containing } from '../platform/db.ts'
import type { AuditLogTable } from '../platform/schema/access.ts'

export type AuditRecord = Selectable<AuditLogTable>

export interface AuditFilter {
  readonly start: Date
  readonly end: Date
  readonly siteId?: string
  /** Part of the name or the address, any case. */
  readonly adminName?: string
  /** Part of the message, any case. */
  readonly message?: string
  readonly sort: { readonly by: 'createdAt' | 'siteId' | 'adminId'; readonly direction: 'asc' | 'desc' }
  readonly limit: number
  readonly offset: number
}

/** Records of the range, and how many match on all pages; one query. */
export async function listAuditLog(
  db: Db,
  scope: OrgScope,
  filter: AuditFilter,
): Promise<{ rows: AuditRecord[]; total: number }> {
  let hits = db
    .selectFrom('auditLog')
    .where('orgId', '=', scope.orgId)
    .where('createdAt', '>=', filter.start)
    .where('createdAt', '<=', filter.end)
  if (scope.siteIds !== 'all') hits = hits.where('siteId', '=', anyOf(scope.siteIds))
  if (filter.siteId !== undefined) hits = hits.where('siteId', '=', filter.siteId)
  if (filter.adminName !== undefined) hits = hits.where('adminName', 'ilike', containing(filter.adminName))
  if (filter.message !== undefined) hits = hits.where('message', 'ilike', containing(filter.message))
  const rows = await hits
    .selectAll()
    .select(sql<string>`count(*) over ()`.as('total'))
    .orderBy(filter.sort.by, filter.sort.direction)
    .orderBy('id', filter.sort.direction)
    .limit(filter.limit)
    .offset(filter.offset)
    .execute()
  const [first] = rows
  if (first !== undefined) return { rows: rows.map(({ total: _, ...record }) => record), total: Number(first.total) }
  if (filter.offset === 0) return { rows: [], total: 0 }
  const counted = await hits.select(sql<string>`count(*)`.as('total')).executeTakeFirstOrThrow()
  return { rows: [], total: Number(counted.total) }
}
