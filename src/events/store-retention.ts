import { sql } from 'kysely'
import type { AgingRows } from '../platform/database/retention.ts'
import { hourOf } from './store-hours.ts'

const byOrg = { owner: 'org_id', isOld: (before: Date) => sql`created_at < ${before}` } as const

/** Includes records of deleted organizations: the operator keeps them for the same time. */
export const agingAuditLog: AgingRows = { ...byOrg, table: 'audit_log' }
/** By the hour, because their index begins with it. */
export const agingDeviceEvents: AgingRows = {
  owner: 'org',
  table: 'device_event_row',
  isOld: (before) =>
    sql`${hourOf(sql`created_at`)} <= ${hourOf(sql`${before}::timestamptz`)} and created_at < ${before}`,
}
export const agingSystemEvents: AgingRows = { ...byOrg, table: 'system_event' }
export const agingMxedgeEvents: AgingRows = { ...byOrg, table: 'mxedge_event' }
/** Open alarms stay, whatever their age. */
export const agingAlarms: AgingRows = {
  owner: 'org_id',
  table: 'alarm',
  isOld: (before) => sql`last_seen_at < ${before} and ended_at is not null`,
}
