import { type Selectable, sql } from 'kysely'
import type { AdminScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Sort, TimeRange } from '../../http/lists/search.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Db } from '../../platform/database/db.ts'
import type { selfLogSorts } from '../../orgs/audit-log/filters.ts'
import type { selfLogFilters } from './log-filters.ts'
import type { LoginFailureTable } from '../tables.ts'

/** Lists the newest login failures first, at most 100. */
export async function listLoginFailures(
  db: Db,
  { adminId }: AdminScope,
  since: Date,
): Promise<Selectable<LoginFailureTable>[]> {
  return db
    .selectFrom('loginFailure')
    .selectAll()
    .where('adminId', '=', adminId)
    .where('createdAt', '>=', since)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(100)
    .execute()
}

export interface SelfLog {
  readonly id: string
  /** Null if the account itself was changed. */
  readonly orgId: string | null
  readonly siteId: string | null
  readonly message: string
  readonly srcIp: string | null
  readonly userAgent: string | null
  readonly before: Record<string, unknown> | null
  readonly after: Record<string, unknown> | null
  readonly createdAt: Date
}

export interface SelfLogSearch extends Page, TimeRange {
  readonly conditions: Conditions<typeof selfLogFilters>
  readonly sort: Sort<(typeof selfLogSorts)[number]>
}

const columns = {
  id: column(sql`entry.id`),
  timestamp: column(sql`entry.created_at`),
  admin_id: column(sql`null::uuid`),
  admin_name: column(sql`null::text`),
  org_id: column(sql`entry.org_id`),
  site_id: column(sql`entry.site_id`),
  for_site: column(sql`entry.site_id is not null`),
  message: column(sql`entry.message`),
  src_ip: column(sql`entry.src_ip`),
  user_agent: column(sql`entry.user_agent`),
} satisfies Columns<typeof selfLogFilters> & Record<(typeof selfLogSorts)[number], Column>

/**
 * Lists changes of the account, and the admin's actions in the organizations that they still belong to. A change of the
 * account is also in the audit log of each of its organizations, with the same time and message; it is listed once.
 */
export async function listSelfLogs(db: Db, { adminId }: AdminScope, filter: SelfLogSearch): Promise<Paged<SelfLog>> {
  const ofAccount = db
    .selectFrom('accountLog')
    .select(['id', sql<string | null>`null::uuid`.as('orgId'), sql<string | null>`null::uuid`.as('siteId')])
    .select(['message', 'srcIp', 'userAgent', 'before', 'after', 'createdAt', 'bytes'])
    .where('adminId', '=', adminId)
    .where('createdAt', '>=', filter.start)
    .where('createdAt', '<=', filter.end)
  const inOrgs = db
    .selectFrom('auditLog')
    .select(['id', sql<string | null>`org_id`.as('orgId'), 'siteId'])
    .select(['message', 'srcIp', 'userAgent', 'before', 'after', 'createdAt', 'bytes'])
    .where('orgId', 'in', (eb) => eb.selectFrom('privilege').select('orgId').where('adminId', '=', adminId))
    .where('adminId', '=', adminId)
    .where('createdAt', '>=', filter.start)
    .where('createdAt', '<=', filter.end)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('accountLog')
            .select('accountLog.id')
            .where('accountLog.adminId', '=', adminId)
            .whereRef('accountLog.createdAt', '=', 'auditLog.createdAt')
            .whereRef('accountLog.message', '=', 'auditLog.message'),
        ),
      ),
    )
  const { by, direction } = filter.sort
  const hits = db
    .selectFrom(ofAccount.unionAll(inOrgs).as('entry'))
    .selectAll()
    .select(columns[by].value.as('sorted'))
    .where(allHold(conditionsOn<typeof selfLogFilters>(columns, filter.conditions)))
  const order = by === 'timestamp' ? ['created_at', 'id'] : ['sorted', 'id']
  return pageOf<SelfLog>(db, { hits, order, direction, sizes: sizesOf(sql`hit.bytes`) }, filter)
}
