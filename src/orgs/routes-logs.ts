import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../access/authorize.ts'
import { listAuditLog } from '../events/store-audit-log.ts'
import { setPageHeaders } from '../http/lists.ts'
import { OrgParams } from '../http/schemas.ts'
import { nextPage } from '../http/search.ts'
import type { Context } from '../platform/context.ts'
import { LogsQuery, LogsReply, parseLogsQuery, presentLog } from './wire-logs.ts'

/** The audit log. Source: contract, Orgs Logs. */
export function auditLogRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/logs',
      {
        schema: {
          operationId: 'listOrgAuditLogs',
          tags: ['Orgs'],
          params: OrgParams,
          querystring: LogsQuery,
          response: { 200: LogsReply },
        },
      },
      async ({ caller, params, query, url }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const filter = parseLogsQuery(query, ctx.clock.now())
        const { rows, total } = await listAuditLog(ctx.db, scope, filter)
        setPageHeaders(reply, filter, total)
        return {
          results: rows.map(presentLog),
          start: Math.floor(filter.start.getTime() / 1000),
          end: Math.floor(filter.end.getTime() / 1000),
          limit: filter.limit,
          total,
          ...(filter.offset + rows.length < total && { next: nextPage(url, filter.page) }),
        }
      },
    )
  }
}
