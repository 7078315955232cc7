import type { Generated, GeneratedAlways } from 'kysely'
import type { Json } from '../platform/database/json-column.ts'
import type { AlarmDetails, AlarmType } from './alarms/alarm-types.ts'
import type { DeviceType } from './device-type.ts'
import type { ConditionType, SystemEventType } from './system-event-types.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    auditLog: AuditLogTable
    webhookOutbox: WebhookOutboxTable
    eventSubscription: EventSubscriptionView
    eventSubscriber: EventSubscriberView
    eventPlace: EventPlaceTable
    deviceEventKind: DeviceEventKindTable
    deviceEventRow: DeviceEventRowTable
    deviceEvent: DeviceEventView
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

/** An organization, or a site of it. Triggers of migration 330 insert each; events outlive their sites. */
export interface EventPlaceTable {
  code: Generated<number>
  orgId: string
  siteId: string | null
  /** The code of the organization itself. */
  org: number
  /** When its site was deleted; null: it exists, or the place is an organization. */
  deletedAt: Date | null
}

/** See device-event-types.ts, which has most codes; others are kinds of former releases. */
export interface DeviceEventKindTable {
  code: number
  deviceType: DeviceType | null
  type: string
  /** True: `warn`; false: `notice`. Null: events of a former release had no level. */
  warns: boolean | null
}

/** The events of devices. Their codes are those of the tables before. */
export interface DeviceEventRowTable {
  createdAt: Date
  id: string
  deviceId: string
  org: number
  place: number
  kind: number
  /** Null: the device had no name, so it goes by its MAC address. */
  deviceName: string | null
  siteName: string | null
  /** The version that the access point ran, where it is known. */
  apfw: string | null
  /** The members of the topic that no column has. */
  event: Json<Record<string, unknown>>
  /** The size of a large document; null of others. */
  eventBytes: GeneratedAlways<number | null>
}

/** A view: the rows with what their codes stand for. Searches read the rows themselves. */
export interface DeviceEventView {
  orgId: string
  id: string
  deviceId: string
  siteId: string | null
  deviceType: DeviceType | null
  type: string
  deviceName: string
  siteName: string | null
  warns: boolean | null
  apfw: string | null
  event: Json<Record<string, unknown>>
  createdAt: Date
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
