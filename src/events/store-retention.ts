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
/** Places of deleted sites, once they have no events any more. */
export const agingPlaces: AgingRows = {
  owner: 'org_id',
  table: 'event_place',
  isOld: (before) => sql`deleted_at < ${before} and not exists (
    select from device_event_row event where event.org = event_place.org
      and ${hourOf(sql`event.created_at`)} <= ${hourOf(sql`${before}::timestamptz`)} and event.place = event_place.code)`,
}
export const agingSystemEvents: AgingRows = { ...byOrg, table: 'system_event' }
export const agingMxedgeEvents: AgingRows = { ...byOrg, table: 'mxedge_event' }
/** Open alarms stay, whatever their age. */
export const agingAlarms: AgingRows = {
  owner: 'org_id',
  table: 'alarm',
  isOld: (before) => sql`last_seen_at < ${before} and ended_at is not null`,
}
