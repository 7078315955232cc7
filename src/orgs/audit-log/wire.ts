import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { AuditRecord } from './store.ts'

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
