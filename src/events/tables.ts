import type { Generated, GeneratedAlways } from 'kysely'
import type { Json } from '../platform/database/json-column.ts'
import type { AlarmDetails, AlarmType } from './alarms/alarm-types.ts'
import type { ConditionType, SystemEventType } from './system-event-types.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    auditLog: AuditLogTable
    webhookOutbox: WebhookOutboxTable
    eventSubscription: EventSubscriptionView
    eventSubscriber: EventSubscriberView
    deviceEvent: DeviceEventTable
    mxedgeEvent: MxedgeEventTable
    systemEvent: SystemEventTable
    systemCondition: SystemConditionTable
    alarm: AlarmTable
  }
}

export interface AuditLogTable {
  orgId: string
  id: string
  siteId: string | null
  siteName: string | null
  deviceId: string | null
  adminId: string | null
  adminName: string | null
  message: string
  srcIp: string | null
  userAgent: string | null
  before: Json<Record<string, unknown>> | null
  after: Json<Record<string, unknown>> | null
  createdAt: Date
  bytes: GeneratedAlways<number>
}

export interface WebhookOutboxTable {
  id: string
  orgId: string
  siteId: string | null
  topic: string
  /** Null if it is the event of the audit record with the same organization, time and id. */
  event: Json<Record<string, unknown>> | null
  auditBytes: Generated<number | null>
  createdAt: Date
  bytes: GeneratedAlways<number>
  routedTo: string | null
  setAsideAt: Date | null
  setAsideReason: string | null
  webhookId: string | null
}

/** A view: the enabled webhooks. See migration 215. */
export interface EventSubscriberView {
  orgId: string
  webhookId: string
  /** Null for a webhook of the organization, which receives the events of all sites. */
  siteId: string | null
  topics: string[]
}

/** A view: one row per organization and topic that an enabled webhook subscribes to. See migration 113. */
export interface EventSubscriptionView {
  orgId: string
  topic: string
  /**
   * The sites with such webhooks. Null represents a webhook of the organization, which receives the events of all
   * sites.
   */
  siteIds: (string | null)[]
}

export interface DeviceEventTable {
  orgId: string
  id: string
  deviceId: string
  siteId: string | null
  deviceType: string | null
  type: string
  deviceName: string | null
  siteName: string | null
  /** True: `warn`; false: `notice`. Null, as the names: the event is of a former release, whose documents have them. */
  warns: boolean | null
  /** The members of the topic that no column has. Events of former releases have all. */
  event: Json<Record<string, unknown>>
  createdAt: Date
  eventBytes: GeneratedAlways<number>
}

export interface MxedgeEventTable {
  orgId: string
  id: string
  mxedgeId: string
  mxclusterId: string | null
  siteId: string | null
  type: string
  event: Json<Record<string, unknown>>
  createdAt: Date
  eventBytes: GeneratedAlways<number>
}

export interface SystemEventTable {
  orgId: string
  id: string
  siteId: string | null
  type: SystemEventType
  once: string | null
  text: string
  details: Json<Record<string, unknown>>
  createdAt: Date
}

/** A condition that lasts: see migration 45. */
export interface SystemConditionTable {
  orgId: string
  type: ConditionType
  subject: string
  siteId: string | null
  endedText: string
  since: Date
}

/** See migration 90. */
export interface AlarmTable {
  orgId: string
  id: string
  siteId: string | null
  type: AlarmType
  subject: string
  text: string
  details: Json<AlarmDetails>
  lasts: boolean
  count: Generated<number>
  createdAt: Date
  lastSeenAt: Date
  endedAt: Date | null
  counting: Generated<boolean>
  ackedAt: Date | null
  ackedBy: string | null
  ackedByName: string | null
  note: string | null
}
