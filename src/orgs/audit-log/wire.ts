import { type Static, Type } from 'typebox'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { parsePage } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import {
  distinctParameter,
  parseSort,
  parseTimeRange,
  sortParameter,
  countQuery,
  pagedSearchQuery,
} from '../../http/lists/search.ts'
import { epochS } from '../../platform/time/clock.ts'
import { logCounts, logFilters, logSorts } from './filters.ts'
import type { AuditCount, AuditFilter, AuditRecord, AuditSearch } from './store.ts'

export const LogsQuery = Type.Object({
  ...pagedSearchQuery,
  ...filterQuery(logFilters),
  sort: sortParameter(logSorts, '-timestamp'),
})

export const LogsCountQuery = Type.Object({
  ...countQuery,
  ...filterQuery(logFilters),
  distinct: distinctParameter(logCounts, 'admin_name'),
})

export const LogReply = named(
  'AuditLog',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Union([Uuid, Type.Null()]),
    site_name: Type.Optional(Type.String({ description: 'the name that the site had then' })),
    device_id: Type.Optional(Uuid),
    for_site: Type.Boolean({ description: 'whether a site was changed, or something in it' }),
    admin_id: Type.Union([Uuid, Type.Null()]),
    admin_name: Type.Union([Type.String(), Type.Null()]),
    message: Type.String(),
    src_ip: Type.Optional(Type.String()),
    user_agent: Type.Optional(Type.String()),
    before: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    after: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    timestamp: Timestamp,
  }),
)

/** @throws AppError invalid naming the field. */
export function parseLogsQuery(query: Static<typeof LogsQuery>, now: Date): AuditSearch {
  return { ...parseFilter(query, now), ...parsePage(query), sort: parseSort(query.sort ?? '-timestamp') }
}

/** @throws AppError invalid naming the field. */
export function parseLogsCountQuery(query: Static<typeof LogsCountQuery>, now: Date): AuditCount {
  return {
    ...parseFilter(query, now),
    distinct: query.distinct ?? 'admin_name',
    limit: parsePage(query).limit,
  }
}

function parseFilter(query: Omit<Static<typeof LogsCountQuery>, 'distinct'>, now: Date): AuditFilter {
  return { ...parseTimeRange(query, now), conditions: parseFilters(logFilters, query) }
}

export function presentLog(record: AuditRecord): Static<typeof LogReply> {
  return {
    id: record.id,
    org_id: record.orgId,
    site_id: record.siteId,
    ...(record.siteName !== null && { site_name: record.siteName }),
    ...(record.deviceId !== null && { device_id: record.deviceId }),
    for_site: record.siteId !== null,
    admin_id: record.adminId,
    admin_name: record.adminName,
    message: record.message,
    ...(record.srcIp !== null && { src_ip: record.srcIp }),
    ...(record.userAgent !== null && { user_agent: record.userAgent }),
    ...(record.before !== null && { before: record.before }),
    ...(record.after !== null && { after: record.after }),
    timestamp: epochS(record.createdAt),
  }
}
