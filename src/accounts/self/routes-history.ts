import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { nextPage, parsePage, setPageHeaders } from '../../http/lists.ts'
import { parseTimeRange } from '../../http/search.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts } from '../parts.ts'
import { requirePerson } from './person.ts'
import { listLoginFailures, listSelfLogs } from './store-history.ts'
import {
  FailuresReply,
  SelfLogsQuery,
  SelfLogsReply,
  UsageReply,
  presentFailures,
  presentSelfLog,
  presentUsage,
} from './wire-history.ts'

const tags = ['Accounts']
const FAILURES_SINCE_MS = 30 * 86_400_000

/** What happened to the caller's account. Source: contract, Self Account and Self Audit Logs. */
export function selfHistoryRoutes(ctx: Context, { requestLimits }: AccountParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self/login_failures',
      { schema: { operationId: 'getSelfLoginFailures', tags, response: { 200: FailuresReply } } },
      async ({ caller }) => {
        const person = requirePerson(caller)
        const since = addMs(ctx.clock.now(), -FAILURES_SINCE_MS)
        return presentFailures(person, await listLoginFailures(ctx.db, person.principal.adminId, since))
      },
    )

    http.get(
      '/self/usage',
      { schema: { operationId: 'getSelfApiUsage', tags, response: { 200: UsageReply } } },
      async ({ caller }) => presentUsage(await requestLimits.usage(caller.principal)),
    )

    http.get(
      '/self/logs',
      {
        schema: {
          operationId: 'listSelfAuditLogs',
          tags: ['Self Audit Logs'],
          querystring: SelfLogsQuery,
          response: { 200: SelfLogsReply },
        },
      },
      async ({ caller, query, url }, reply) => {
        const person = requirePerson(caller)
        const range = parseTimeRange(query, ctx.clock.now())
        const page = parsePage(query)
        const found = await listSelfLogs(ctx.db, person.principal.adminId, { ...range, ...page })
        setPageHeaders(reply, page, found)
        return {
          results: found.rows.map((row) => presentSelfLog(person, row)),
          start: Math.floor(range.start.getTime() / 1000),
          end: Math.floor(range.end.getTime() / 1000),
          limit: found.limit,
          page: page.page,
          total: found.total,
          ...(found.limit * page.page < found.total && {
            next: nextPage(url, { limit: found.limit, page: page.page }),
          }),
        }
      },
    )
  }
}
