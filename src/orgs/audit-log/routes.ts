import { orgSites } from '../../http/at.ts'
import { countOf, searchOf } from '../../http/lists/declare-search.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { pageHeaders, presentPage, setPageHeaders } from '../../http/lists/lists.ts'
import type { Operation } from '../../http/operation.ts'
import { logCounts, logFilters, logSorts } from './filters.ts'
import { countAuditLog, listAuditLog } from './store.ts'
import { LogReply, presentLog } from './wire.ts'

const tag = 'Orgs Logs'

/** Older clients use the first path, newer ones the second. */
const spellings = [
  { id: 'listOrgAuditLogs', summary: 'List the audit log of an organization', path: '/logs' },
  { id: 'searchOrgAuditLogs', summary: 'Search the audit log of an organization', path: '/logs/search' },
]

/** The audit log. Source: contract, Orgs Logs. */
export const auditLogOperations: Operation[] = [
  ...spellings.map(({ id, summary, path }) =>
    searchOperation({
      id,
      summary,
      tag,
      at: orgSites(path, { needs: 'read' }),
      ...searchOf({ filters: logFilters, sorts: logSorts, usual: '-timestamp' }),
      item: LogReply,
      headers: pageHeaders,
      run: async (ctx, { scope, search, reply }) => {
        const found = await listAuditLog(ctx.db, scope, search)
        setPageHeaders(reply, search, found)
        return presentPage(found, presentLog)
      },
    }),
  ),
  countOperation({
    id: 'countOrgAuditLogs',
    summary: 'Count the audit log of an organization by a field',
    tag,
    at: orgSites('/logs/count', { needs: 'read' }),
    ...countOf({ filters: logFilters, counts: logCounts, usual: 'admin_name' }),
    run: (ctx, { scope, search }) => countAuditLog(ctx.db, scope, search),
  }),
].flat()
