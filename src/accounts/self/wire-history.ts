import { type Static, Type } from 'typebox'
import type { Selectable } from 'kysely'
import { actorName } from '../../access/principal.ts'
import { NO_ID, Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { LoginFailureTable } from '../tables.ts'
import type { RequestUsage } from '../../access/request-limits.ts'
import type { Person } from './person.ts'
import type { SelfLog } from './store-history.ts'

export const FailuresReply = named(
  'LoginFailures',
  Type.Object({
    email: Type.String(),
    num_attempts: Type.Integer({ description: 'of the last 30 days' }),
    last_failure_at: Type.Optional(Type.Integer({ description: 'epoch seconds' })),
    src_ips: Type.Array(Type.String()),
    scr_ips: Type.Array(Type.String({ description: 'the same, by the name that older clients know' })),
    user_agents: Type.Array(Type.String()),
  }),
)

/** @param failures Newest first. */
export function presentFailures(
  { principal }: Person,
  failures: readonly Selectable<LoginFailureTable>[],
): Static<typeof FailuresReply> {
  const srcIps = distinct(failures.map(({ srcIp }) => srcIp))
  const [last] = failures
  return {
    email: principal.email,
    num_attempts: failures.length,
    ...(last !== undefined && { last_failure_at: Math.floor(epochS(last.createdAt)) }),
    src_ips: srcIps,
    scr_ips: srcIps,
    user_agents: distinct(failures.map(({ userAgent }) => userAgent)),
  }
}

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values.filter((value) => value !== null))]
}

export const UsageReply = named(
  'ApiUsage',
  Type.Object({
    requests: Type.Integer(),
    request_limit: Type.Integer(),
    seconds: Type.Number({ description: 'until the count restarts' }),
  }),
)

export function presentUsage({ requests, requestLimit, secondsLeft }: RequestUsage): Static<typeof UsageReply> {
  return { requests, request_limit: requestLimit, seconds: secondsLeft }
}

const IdOrNone = Type.String({ format: 'uuid', description: `${NO_ID} for none` })
const Document = Type.Optional(Type.Record(Type.String(), Type.Unknown()))

const SelfLogReply = named(
  'SelfAuditLog',
  Type.Object({
    id: Uuid,
    admin_id: Uuid,
    admin_name: Type.String(),
    org_id: IdOrNone,
    site_id: IdOrNone,
    for_site: Type.Boolean({ description: 'whether a site was changed, or something in it' }),
    message: Type.String(),
    src_ip: Type.Optional(Type.String()),
    user_agent: Type.Optional(Type.String()),
    before: Document,
    after: Document,
    timestamp: Timestamp,
  }),
)

export const SelfLogsReply = named(
  'SelfAuditLogSearchResult',
  Type.Object({
    results: Type.Array(SelfLogReply),
    start: Type.Integer(),
    end: Type.Integer(),
    limit: Type.Integer(),
    page: Type.Integer(),
    total: Type.Integer(),
    next: Type.Optional(Type.String()),
  }),
)

export function presentSelfLog({ principal }: Person, entry: SelfLog): Static<typeof SelfLogReply> {
  return {
    id: entry.id,
    admin_id: principal.adminId,
    admin_name: actorName(principal),
    org_id: entry.orgId ?? NO_ID,
    site_id: entry.siteId ?? NO_ID,
    for_site: entry.siteId !== null,
    message: entry.message,
    ...(entry.srcIp !== null && { src_ip: entry.srcIp }),
    ...(entry.userAgent !== null && { user_agent: entry.userAgent }),
    ...(entry.before !== null && { before: entry.before }),
    ...(entry.after !== null && { after: entry.after }),
    timestamp: epochS(entry.createdAt),
  }
}
