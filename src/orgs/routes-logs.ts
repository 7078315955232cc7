import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../access/authorize.ts'
import { countAuditLog, listAuditLog } from './store-logs.ts'
import { setPageHeaders } from '../http/lists.ts'
import { OrgParams } from '../http/schemas.ts'
import { CountReply, presentCounts, presentSearch } from '../http/search.ts'
import type { Context } from '../platform/context.ts'
import { LogsCountQuery, LogsQuery, LogsReply, parseLogsCountQuery, parseLogsQuery, presentLog } from './wire-logs.ts'

/** Older clients ask at the first path, newer ones at the second. */
const paths = [
  { url: '/orgs/:org_id/logs', operationId: 'listOrgAuditLogs' },
  { url: '/orgs/:org_id/logs/search', operationId: 'searchOrgAuditLogs' },
] as const

/** The audit log. Source: contract, Orgs Logs. */
export function auditLogRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    for (const { url, operationId } of paths)
      http.get(
        url,
        {
          schema: {
            operationId,
            tags: ['Orgs Logs'],
            params: OrgParams,
            querystring: LogsQuery,
            response: { 200: LogsReply },
          },
        },
        async (request, reply) => {
          const scope = authorize(request.caller, { orgId: request.params.org_id, needs: 'read', sites: 'some' })
          const filter = parseLogsQuery(request.query, ctx.clock.now())
          const found = await listAuditLog(ctx.db, scope, filter)
          setPageHeaders(reply, filter, found)
          return presentSearch(found, presentLog, { search: filter, url: request.url })
        },
      )

    http.get(
      '/orgs/:org_id/logs/count',
      {
        schema: {
          operationId: 'countOrgAuditLogs',
          tags: ['Orgs Logs'],
          params: OrgParams,
          querystring: LogsCountQuery,
          response: { 200: CountReply },
        },
      },
      async ({ caller, params, query }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const count = parseLogsCountQuery(query, ctx.clock.now())
        return presentCounts(await countAuditLog(ctx.db, scope, count), count)
      },
    )
  }
}
