import { type Static, Type } from 'typebox'
import type { AuditFilter, AuditRecord } from '../events/store-audit-log.ts'
import { type Page, pageQuery, parsePage } from '../http/lists.ts'
import { Timestamp, Uuid } from '../http/schemas.ts'
import { parseSort, parseTimeRange, searchQuery, searchReplyOf } from '../http/search.ts'
import { epochS } from '../platform/clock.ts'

export const LogsQuery = Type.Object({
  ...searchQuery,
  ...pageQuery,
  site_id: Type.Optional(Uuid),
  admin_name: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  sort: Type.Optional(
    Type.Enum(['timestamp', '-timestamp', 'admin_id', '-admin_id', 'site_id', '-site_id'], { default: '-timestamp' }),
  ),
})

const LogReply = Type.Object({
  id: Uuid,
  org_id: Uuid,
  site_id: Type.Union([Uuid, Type.Null()]),
  admin_id: Type.Union([Uuid, Type.Null()]),
  admin_name: Type.Union([Type.String(), Type.Null()]),
  message: Type.String(),
  src_ip: Type.Optional(Type.String()),
  user_agent: Type.Optional(Type.String()),
  before: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  after: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  timestamp: Timestamp,
})

export const LogsReply = searchReplyOf(LogReply)

const columns = { timestamp: 'createdAt', admin_id: 'adminId', site_id: 'siteId' } as const

export function parseLogsQuery(query: Static<typeof LogsQuery>, now: Date): AuditFilter & Page {
  const { by, direction } = parseSort(query.sort ?? '-timestamp')
  const column = by === 'admin_id' || by === 'site_id' ? columns[by] : columns.timestamp
  return {
    ...parseTimeRange(query, now),
    ...parsePage(query),
    ...(query.site_id !== undefined && { siteId: query.site_id }),
    ...(query.admin_name !== undefined && { adminName: query.admin_name }),
    ...(query.message !== undefined && { message: query.message }),
    sort: { by: column, direction },
  }
}

export function presentLog(record: AuditRecord): Static<typeof LogReply> {
  return {
    id: record.id,
    org_id: record.orgId,
    site_id: record.siteId,
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
