import type { AlarmType, LastingAlarmType } from './alarms/alarm-types.ts'
import type { EventTypeDefinition } from './device-event-types.ts'
import { keysOf } from '../platform/records.ts'

interface SystemEventDeclaration {
  readonly severity: 'info' | 'warn' | 'critical'
  readonly category: 'certificate' | 'storage' | 'firmware' | 'webhook' | 'retention' | 'device'
  readonly display: string
  readonly description: string
  /** The text of an example. */
  readonly example: string
  /** The alarm that it raises. */
  readonly alarm?: AlarmType
}

/** The events of the service itself, by their type. */
export const systemEvents = {
  CERTIFICATE_EXPIRING: {
    severity: 'critical',
    category: 'certificate',
    display: 'Certificate of the server expires soon',
    description:
      'A certificate by which clients or devices know the server expires within 30 days, or the CA of devices or agents within a year',
    example: 'The certificate of the HTTPS server expires on 2026-12-01',
    alarm: 'certificate_expiring',
  },
  CERTIFICATE_RENEWED: {
    severity: 'info',
    category: 'certificate',
    display: 'Certificate of the server renewed',
    description: 'The certificate that was about to expire has been replaced',
    example: 'The certificate of the HTTPS server has been replaced',
  },
  DISK_SPACE_LOW: {
    severity: 'critical',
    category: 'storage',
    display: 'Disk of the server nearly full',
    description: 'The free space is less than twice the reserve below which uploads are refused',
    example: 'The disk of the server has 3.0 GiB free, and uploads are refused below 2.0 GiB',
    alarm: 'storage_low',
  },
  DISK_SPACE_RECOVERED: {
    severity: 'info',
    category: 'storage',
    display: 'Disk of the server has space again',
    description: 'The disk that was nearly full has space again',
    example: 'The disk of the server has space again',
  },
  STORAGE_QUOTA_NEARLY_FULL: {
    severity: 'warn',
    category: 'storage',
    display: 'Storage quota nearly used up',
    description: 'The organization, or all together, use at least 90 percent of the space for files of one kind',
    example: 'Firmware images of the organization use 95.0 of 100.0 GiB',
    alarm: 'storage_low',
  },
  STORAGE_QUOTA_RECOVERED: {
    severity: 'info',
    category: 'storage',
    display: 'Storage quota has room again',
    description: 'The quota that was nearly used up has room again',
    example: 'There is room for firmware images of the organization again',
  },
  FIRMWARE_IMAGE_MISSING: {
    severity: 'critical',
    category: 'firmware',
    display: 'Firmware image missing',
    description: 'The file of a firmware image is not on the disk, so that no device can download it',
    example: 'The file of firmware image 0193a1c0-0000-7000-8000-000000000006 is missing: delete and upload it again',
    alarm: 'firmware_image_missing',
  },
  FIRMWARE_IMAGE_RESTORED: {
    severity: 'info',
    category: 'firmware',
    display: 'Firmware image restored',
    description: 'The missing firmware image is there again, or has been deleted',
    example: 'Firmware image 0193a1c0-0000-7000-8000-000000000006 is no longer missing',
  },
  WEBHOOK_FAILING: {
    severity: 'warn',
    category: 'webhook',
    display: 'Webhook fails',
    description:
      'The receiver of a webhook has not accepted a message for an hour, or has acknowledged none of those that it fetches for a day',
    example: 'The receiver of webhook "Alerts" has not taken messages for an hour',
    alarm: 'webhook_failing',
  },
  WEBHOOK_RECOVERED: {
    severity: 'info',
    category: 'webhook',
    display: 'Webhook fails no longer',
    description:
      'The receiver of the failing webhook accepts messages again, none of them is older than an hour, or the webhook has been disabled or deleted',
    example: 'Webhook "Alerts" no longer fails, or has been disabled or deleted',
  },
  WEBHOOK_DISABLED: {
    severity: 'warn',
    category: 'webhook',
    display: 'Webhook disabled',
    description:
      'The receiver of a webhook wants no further messages, or has failed for 72 hours, so the service has disabled the webhook',
    example: 'Webhook "Alerts" has been disabled, because its receiver answered 410 Gone',
    alarm: 'webhook_disabled',
  },
  WEBHOOK_MESSAGES_DROPPED: {
    severity: 'critical',
    category: 'webhook',
    display: 'Webhook messages dropped',
    description:
      'The receiver of a webhook has not accepted messages for a week; they can be replayed for another week',
    example:
      '12 messages of webhook "Alerts" have not been taken by its receiver for a week, and can be replayed for another one',
    alarm: 'webhook_messages_dropped',
  },
  WEBHOOK_OVERFLOWING: {
    severity: 'critical',
    category: 'webhook',
    display: 'Webhook drops messages',
    description:
      'The limit of waiting messages of a webhook, or of its organization, is reached, so new ones are dropped',
    example: 'Messages of webhook "Alerts" are dropped, because too many wait',
    alarm: 'webhook_overflowing',
  },
  WEBHOOK_OVERFLOW_ENDED: {
    severity: 'info',
    category: 'webhook',
    display: 'Webhook drops no messages any more',
    description: 'No message of the webhook has been dropped for an hour, or it has been deleted',
    example: 'No message of webhook "Alerts" has been dropped for an hour',
  },
  WEBHOOK_CERTIFICATE_EXPIRING: {
    severity: 'warn',
    category: 'webhook',
    display: 'Client certificate of a webhook expires soon',
    description: 'The certificate that an enabled webhook shows its receiver expires within 30 days',
    example: 'The client certificate of webhook "Alerts" expires on 2026-12-01',
    alarm: 'webhook_certificate_expiring',
  },
  WEBHOOK_CERTIFICATE_RENEWED: {
    severity: 'info',
    category: 'webhook',
    display: 'Client certificate of a webhook renewed',
    description: 'The certificate that was about to expire has been replaced, or its webhook disabled or deleted',
    example: 'The client certificate of webhook "Alerts" no longer expires soon',
  },
  WEBHOOK_EVENT_SET_ASIDE: {
    severity: 'critical',
    category: 'webhook',
    display: 'Event not sent to webhooks',
    description: 'An event could not be sent to webhooks, and is stored for the operator',
    example: 'An event of the topic audits could not be sent to webhooks; the operator can send it later',
    alarm: 'webhook_event_set_aside',
  },
  RECORDS_DELETED: {
    severity: 'info',
    category: 'retention',
    display: 'Old records deleted',
    description: "Records older than the operator's retention have been deleted; reported once a day",
    example: 'Audit records from before 2025-11-20 have been deleted',
  },
  DEVICE_SENDS_TOO_MUCH: {
    severity: 'warn',
    category: 'device',
    display: 'Device sends too much',
    description: 'The gateway has closed the session of a device that sends more than it reads; reported once a day',
    example: 'Device 020000000001 sends more than the gateway reads, and was disconnected',
  },
  DEVICE_CERTIFICATE_CLONED: {
    severity: 'critical',
    category: 'device',
    display: 'Device certificate used by several devices',
    description: 'Several devices connect with one certificate and replace each other; reported once a day',
    example: 'Device 020000000001 is replaced again and again by another one with its certificate',
    alarm: 'device_certificate_cloned',
  },
  DEVICE_CERTIFICATE_EXPIRING: {
    severity: 'critical',
    category: 'certificate',
    display: 'Certificates of devices expire soon',
    description:
      'The certificate by which devices of a site, or an edge appliance, prove themselves expires within 90 days; afterwards they can no longer connect',
    example: 'The certificates of 12 devices expire, that of Hall first, on 2036-12-01',
    alarm: 'device_certificate_expiring',
  },
  DEVICE_CERTIFICATE_RENEWED: {
    severity: 'info',
    category: 'certificate',
    display: 'Certificates of devices no longer expire soon',
    description: 'The devices whose certificates were about to expire have connected with others, or were given up',
    example: 'No certificate of these devices expires soon any more',
  },
  DEVICE_UPTIME_MISSING: {
    severity: 'warn',
    category: 'device',
    display: 'Device reports no uptime',
    description: 'A device reports no uptime, so that its boots may go unnoticed; reported once a day',
    example: 'Device 020000000001 reports no uptime, so its boots may go unnoticed: it may lack a configuration',
  },
} as const satisfies Readonly<Record<string, SystemEventDeclaration>>

export type SystemEventType = keyof typeof systemEvents

/** Maps the events that report the beginning of a condition to those that report its end. */
export const conditionEnds = {
  CERTIFICATE_EXPIRING: 'CERTIFICATE_RENEWED',
  DISK_SPACE_LOW: 'DISK_SPACE_RECOVERED',
  STORAGE_QUOTA_NEARLY_FULL: 'STORAGE_QUOTA_RECOVERED',
  FIRMWARE_IMAGE_MISSING: 'FIRMWARE_IMAGE_RESTORED',
  WEBHOOK_FAILING: 'WEBHOOK_RECOVERED',
  WEBHOOK_OVERFLOWING: 'WEBHOOK_OVERFLOW_ENDED',
  WEBHOOK_CERTIFICATE_EXPIRING: 'WEBHOOK_CERTIFICATE_RENEWED',
  DEVICE_CERTIFICATE_EXPIRING: 'DEVICE_CERTIFICATE_RENEWED',
} as const satisfies Partial<Record<SystemEventType, SystemEventType>>

export type ConditionType = keyof typeof conditionEnds

/** Returns the alarm that is open while the condition lasts. A condition without one does not compile. */
export function alarmOfCondition(type: ConditionType): LastingAlarmType {
  return systemEvents[type].alarm
}

/** Returns the alarm that an event raises, if it raises one; of conditions, see alarmOfCondition(). */
export function alarmOfEvent(type: SystemEventType): AlarmType | undefined {
  const declaration: SystemEventDeclaration = systemEvents[type]
  return type in conditionEnds ? undefined : declaration.alarm
}

/** Returns every type of system event. */
export function systemEventTypes(): EventTypeDefinition[] {
  const types = keysOf(systemEvents)
  return types.map(definitionOf)
}

function definitionOf(key: SystemEventType): EventTypeDefinition {
  const { display, description, example: text, category, severity } = systemEvents[key]
  const example = { type: key, text, change_cat: category, severity, timestamp: 1_790_000_000.25 }
  return { key, display, description, example }
}
