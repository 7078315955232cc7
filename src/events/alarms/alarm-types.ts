import { keysOf } from '../../platform/records.ts'

interface AlarmDeclaration {
  readonly group: 'infrastructure' | 'upgrade' | 'webhook' | 'storage' | 'security'
  readonly severity: 'info' | 'warn' | 'critical'
  readonly display: string
  /** True: it ends when its cause does. False: it ends when a person acknowledges it. */
  readonly lasts: boolean
  /** The text of an example. */
  readonly example: string
  /** The fields that describe its subject, besides those of every alarm. */
  readonly fields: readonly (keyof AlarmDetails)[]
}

/** The subject of an alarm, in the fields of the wire. */
export type AlarmDetails = {
  /** MAC addresses of access points. */
  readonly aps?: readonly string[]
  readonly switches?: readonly string[]
  readonly gateways?: readonly string[]
  /** The names of those devices. */
  readonly hostnames?: readonly string[]
  readonly upgrade_id?: string
  readonly webhook_id?: string
}

const devices = ['aps', 'switches', 'gateways', 'hostnames'] as const

/** Every alarm, by its type. */
export const alarms = {
  device_down: {
    group: 'infrastructure',
    severity: 'warn',
    display: 'Device offline',
    lasts: true,
    example: 'Hall is offline',
    fields: devices,
  },
  device_certificate_cloned: {
    group: 'security',
    severity: 'critical',
    display: 'Device certificate used by several devices',
    lasts: false,
    example: 'Several devices connect with the certificate of Hall',
    fields: devices,
  },
  device_certificate_expiring: {
    group: 'security',
    severity: 'critical',
    display: 'Certificates of devices expire soon',
    lasts: true,
    example: 'The certificates of 12 devices expire, that of Hall first, on 2036-12-01',
    fields: ['aps', 'switches', 'gateways'],
  },
  upgrade_failed: {
    group: 'upgrade',
    severity: 'critical',
    display: 'Upgrade failed',
    lasts: false,
    example: 'The upgrade to 3.2.0 failed: too many devices failed',
    fields: ['upgrade_id'],
  },
  upgrade_held: {
    group: 'upgrade',
    severity: 'warn',
    display: 'Upgrade waits for a decision',
    lasts: true,
    example:
      'The upgrade to 3.2.0 is held: 0 of 90 devices of phase 1 were upgraded; resume it to open the next phase, or cancel it',
    fields: ['upgrade_id'],
  },
  webhook_failing: {
    group: 'webhook',
    severity: 'warn',
    display: 'Webhook fails',
    lasts: true,
    example: 'The receiver of webhook "Alerts" has not taken messages for an hour',
    fields: ['webhook_id'],
  },
  webhook_disabled: {
    group: 'webhook',
    severity: 'warn',
    display: 'Webhook disabled',
    lasts: false,
    example: 'Webhook "Alerts" has been disabled, because its receiver answered 410 Gone',
    fields: ['webhook_id'],
  },
  webhook_messages_dropped: {
    group: 'webhook',
    severity: 'critical',
    display: 'Webhook messages dropped',
    lasts: false,
    example: '12 messages of webhook "Alerts" have not been taken by its receiver for a week',
    fields: ['webhook_id'],
  },
  webhook_event_set_aside: {
    group: 'webhook',
    severity: 'critical',
    display: 'Event not sent to webhooks',
    lasts: false,
    example: 'An event of the topic audits could not be sent to webhooks; the operator can send it later',
    fields: [],
  },
  webhook_overflowing: {
    group: 'webhook',
    severity: 'critical',
    display: 'Webhook drops messages',
    lasts: true,
    example: 'Messages of webhook "Alerts" are dropped, because too many wait',
    fields: ['webhook_id'],
  },
  webhook_certificate_expiring: {
    group: 'webhook',
    severity: 'warn',
    display: 'Client certificate of a webhook expires soon',
    lasts: true,
    example: 'The client certificate of webhook "Alerts" expires on 2026-12-01',
    fields: ['webhook_id'],
  },
  storage_low: {
    group: 'storage',
    severity: 'critical',
    display: 'Storage nearly used up',
    lasts: true,
    example: 'Firmware images of the organization use 95.0 of 100.0 GiB',
    fields: [],
  },
  firmware_image_missing: {
    group: 'storage',
    severity: 'critical',
    display: 'Firmware image missing',
    lasts: true,
    example: 'The file of firmware image 0193a1c0-0000-7000-8000-000000000006 is missing: delete and upload it again',
    fields: [],
  },
  certificate_expiring: {
    group: 'security',
    severity: 'critical',
    display: 'Certificate of the server expires soon',
    lasts: true,
    example: 'The certificate of the HTTPS server expires on 2026-12-01',
    fields: [],
  },
} as const satisfies Readonly<Record<string, AlarmDeclaration>>

export type AlarmType = keyof typeof alarms

/** The types of alarms that end by themselves. */
export type LastingAlarmType = { [T in AlarmType]: (typeof alarms)[T]['lasts'] extends true ? T : never }[AlarmType]

const groups = Object.values(alarms).map(({ group }) => group)
export const alarmGroups = [...new Set(groups)]

export const alarmSeverities = ['info', 'warn', 'critical'] as const

interface AlarmDefinition {
  readonly key: AlarmType
  readonly display: string
  readonly group: string
  readonly severity: string
  readonly fields: string[]
  readonly example: Record<string, unknown>
}

/** Returns every type of alarm. */
export function alarmDefinitions(): AlarmDefinition[] {
  const types = keysOf(alarms)
  return types.map((key) => {
    const { display, group, severity, fields, example } = alarms[key]
    const seen = { timestamp: 1_790_000_000.25, last_seen: 1_790_000_000.25, count: 1 }
    return {
      key,
      display,
      group,
      severity,
      fields: [...fields],
      example: { type: key, group, severity, text: example, ...seen },
    }
  })
}
