import { self } from '../../http/at.ts'
import { searchOf } from '../../http/lists/declare-search.ts'
import { setPageHeaders } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { presentSearch } from '../../http/lists/search.ts'
import { selfLogSorts } from '../../orgs/audit-log/filters.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { AccountParts } from '../parts.ts'
import { selfLogFilters } from './log-filters.ts'
import { person } from './person.ts'
import { listLoginFailures, listSelfLogs } from './store-history.ts'
import {
  FailuresReply,
  SelfLogsReply,
  UsageReply,
  presentFailures,
  presentSelfLog,
  presentUsage,
} from './wire-history.ts'

const tag = 'Accounts'
const selfLogs = searchOf({ filters: selfLogFilters, sorts: selfLogSorts, usual: '-timestamp' })
const FAILURES_SINCE_MS = 30 * 86_400_000

/** The history of the caller's account. Source: contract, Self Account and Self Audit Logs. */
export function selfHistoryOperations({ requestLimits }: AccountParts): Operation[] {
  return [
    operation({
      id: 'getSelfLoginFailures',
      summary: 'Get the failed sign-ins of the caller',
      method: 'GET',
      tag,
      at: person('/self/login_failures'),
      reply: FailuresReply,
      run: async (ctx, { scope: caller }) => {
        const since = addMs(ctx.clock.now(), -FAILURES_SINCE_MS)
        return presentFailures(caller, await listLoginFailures(ctx.db, caller, since))
      },
    }),
    operation({
      id: 'getSelfApiUsage',
      summary: 'Get how many calls the caller has made this hour',
      method: 'GET',
      tag,
      at: self('/self/usage'),
      reply: UsageReply,
      run: async (_ctx, { caller }) => presentUsage(await requestLimits.usage(caller.principal)),
    }),
    operation({
      id: 'listSelfAuditLogs',
      summary: 'List the actions of the caller',
      method: 'GET',
      tag: 'Self Audit Logs',
      at: person('/self/logs'),
      query: selfLogs.query,
      reply: SelfLogsReply,
      run: async (ctx, { scope: caller, query, url, reply }) => {
        const search = selfLogs.parse(query, ctx.clock.now())
        const found = await listSelfLogs(ctx.db, caller, search)
        setPageHeaders(reply, search, found)
        return {
          ...presentSearch(found, (row) => presentSelfLog(caller, row), { search, url }),
          page: search.page,
        }
      },
    }),
  ].flat()
}
