import { type Static, Type } from 'typebox'
import type { AuditCount, AuditFilter, AuditMatch, AuditRecord } from './store-logs.ts'
import { pageQuery, parsePage } from '../http/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { parseSort, parseTimeRange, searchQuery } from '../http/search.ts'
import { epochS } from '../platform/clock.ts'

const filters = {
  site_id: Type.Optional(Uuid),
  admin_id: Type.Optional(Uuid),
  admin_name: Type.Optional(Type.String({ description: 'part of the name or the address' })),
  message: Type.Optional(Type.String({ description: 'part of it' })),
}

export const LogsQuery = Type.Object({
  ...searchQuery,
  ...pageQuery,
  ...filters,
  sort: Type.Optional(
    Type.Enum(['timestamp', '-timestamp', 'admin_id', '-admin_id', 'site_id', '-site_id'], { default: '-timestamp' }),
  ),
})

export const LogsCountQuery = Type.Object({
  ...searchQuery,
  limit: pageQuery.limit,
  ...filters,
  distinct: Type.Optional(Type.Enum(['admin_id', 'admin_name', 'message', 'site_id'], { default: 'admin_name' })),
})

export const LogReply = named(
  'AuditLog',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Union([Uuid, Type.Null()]),
    site_name: Type.Optional(Type.String({ description: 'the name that the site had then' })),
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

export function parseLogsQuery(query: Static<typeof LogsQuery>, now: Date): AuditFilter {
  const { by, direction } = parseSort(query.sort ?? '-timestamp')
  const column = by === 'admin_id' || by === 'site_id' ? by : 'created_at'
  return { ...parseMatch(query, now), ...parsePage(query), sort: { by: column, direction } }
}

export function parseLogsCountQuery(query: Static<typeof LogsCountQuery>, now: Date): AuditCount {
  return {
    ...parseMatch(query, now),
    distinct: query.distinct ?? 'admin_name',
    limit: parsePage(query).limit,
  }
}

function parseMatch(query: Omit<Static<typeof LogsCountQuery>, 'distinct'>, now: Date): AuditMatch {
  return {
    ...parseTimeRange(query, now),
    ...(query.site_id !== undefined && { siteId: query.site_id }),
    ...(query.admin_id !== undefined && { adminId: query.admin_id }),
    ...(query.admin_name !== undefined && { adminName: query.admin_name }),
    ...(query.message !== undefined && { message: query.message }),
  }
}

export function presentLog(record: AuditRecord): Static<typeof LogReply> {
  return {
    id: record.id,
    org_id: record.orgId,
    site_id: record.siteId,
    ...(record.siteName !== null && { site_name: record.siteName }),
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
