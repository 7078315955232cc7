import { upgradeEventTypes } from './upgrade-event-types.ts'
import { type Static, type TSchema, Type } from 'typebox'
import { keysOf } from '../platform/records.ts'

/** The definition of a topic. A new topic needs an entry in `topics`, and code that appends its events. */
interface TopicDeclaration<E extends TSchema> {
  /** One event, with names and members as the interface's clients know them; `timestamp` is in epoch seconds. */
  readonly event: E
  /** An example event, as receivers get it. Tests send it. */
  readonly example: Static<E>
  /** The webhooks that can subscribe. Webhooks of a site can subscribe to every topic of an organization. */
  readonly subscribers: 'org' | 'site' | 'nobody'
  readonly hasDeliveryResults: boolean
  readonly allowsSingleEventPerMessage: boolean
  /** How long the router may wait for more events of the topic, to send them together. */
  readonly lingerMs: number
}

/** Checks the example against the event's type. */
function topic<E extends TSchema>(declaration: TopicDeclaration<E>): TopicDeclaration<E> {
  return declaration
}

const Optional = Type.Optional
const NullableText = Type.Union([Type.String(), Type.Null()])
const Document = Type.Record(Type.String(), Type.Unknown())

const [orgId, siteId] = ['0193a1c0-0000-7000-8000-000000000001', '0193a1c0-0000-7000-8000-000000000002']
const usual = { subscribers: 'org', hasDeliveryResults: true, allowsSingleEventPerMessage: true } as const

const DeviceType = Type.Enum(['ap', 'switch', 'gateway'])
const Texts = Type.Unsafe<readonly string[]>(Type.Array(Type.String()))

/** The topics that Signalbox emits. */
export const topics = {
  alarms: topic({
    ...usual,
    lingerMs: 0,
    event: Type.Object({
      id: Type.String(),
      org_id: Type.String(),
      site_id: Optional(Type.String()),
      site_name: Optional(Type.String()),
      for_site: Type.Boolean(),
      type: Type.String(),
      group: Type.String(),
      severity: Type.Enum(['info', 'warn', 'critical']),
      timestamp: Type.Number(),
      last_seen: Type.Number(),
      count: Type.Integer(),
      update: Type.Boolean(),
      resolved_time: Optional(Type.Integer()),
      text: Type.String(),
      aps: Optional(Texts),
      switches: Optional(Texts),
      gateways: Optional(Texts),
      hostnames: Optional(Texts),
      upgrade_id: Optional(Type.String()),
      webhook_id: Optional(Type.String()),
    }),
    example: {
      id: '0193a1c0-0000-7000-8000-000000000007',
      org_id: orgId,
      site_id: siteId,
      site_name: 'Office',
      for_site: true,
      type: 'device_down',
      group: 'infrastructure',
      severity: 'warn',
      timestamp: 1_790_000_000.25,
      last_seen: 1_790_000_000.25,
      count: 1,
      update: false,
      text: 'Hall is offline',
      aps: ['020000000001'],
      hostnames: ['Hall'],
    },
  }),
  audits: topic({
    ...usual,
    lingerMs: 0,
    event: Type.Object({
      id: Type.String(),
      timestamp: Type.Number(),
      org_id: Type.String(),
      site_id: Optional(Type.String()),
      site_name: Optional(Type.String()),
      device_id: Optional(Type.String()),
      admin_id: NullableText,
      admin_name: Type.String(),
      message: Type.String(),
      src_ip: Type.String({ description: 'empty for changes by the service itself' }),
      user_agent: NullableText,
      before: Optional(Document),
      after: Optional(Document),
    }),
    example: {
      id: '0193a1c0-0000-7000-8000-000000000003',
      timestamp: 1_790_000_000.25,
      org_id: orgId,
      site_id: siteId,
      site_name: 'Office',
      admin_id: null,
      admin_name: 'Ada',
      message: 'Update Site "Office"',
      src_ip: '192.0.2.1',
      user_agent: null,
      before: { name: 'Ofice' },
      after: { name: 'Office' },
    },
  }),
  'device-events': topic({
    ...usual,
    lingerMs: 1000,
    event: Type.Object({
      device_name: Type.String(),
      device_type: DeviceType,
      ev_type: Type.Enum(['notice', 'warn']),
      mac: Type.String(),
      org_id: Type.String(),
      timestamp: Type.Number(),
      type: Type.String(),
      ap: Optional(Type.String()),
      ap_name: Optional(Type.String()),
      apfw: Optional(Type.String()),
      port_id: Optional(Type.String()),
      count: Optional(Type.Integer()),
      site_id: Optional(Type.String()),
      site_name: Optional(Type.String()),
      audit_id: Optional(Type.String()),
      reason: Optional(Type.String()),
      text: Optional(Type.String()),
    }),
    example: {
      device_name: 'Hall',
      device_type: 'ap',
      ev_type: 'warn',
      mac: '020000000001',
      org_id: orgId,
      timestamp: 1_790_000_000.25,
      type: 'AP_DISCONNECTED',
      ap: '020000000001',
      ap_name: 'Hall',
      site_id: siteId,
      site_name: 'Office',
    },
  }),
  'device-updowns': topic({
    ...usual,
    lingerMs: 0,
    event: Type.Object({
      ap: Type.String(),
      ap_name: Type.String(),
      device_name: Type.String(),
      device_type: DeviceType,
      mac: Type.String(),
      org_id: Type.String(),
      for_site: Type.Boolean(),
      site_id: Optional(Type.String()),
      site_name: Optional(Type.String()),
      timestamp: Type.Number(),
      type: Type.String(),
    }),
    example: {
      ap: '020000000001',
      ap_name: 'Hall',
      device_name: 'Hall',
      device_type: 'ap',
      mac: '020000000001',
      org_id: orgId,
      for_site: true,
      site_id: siteId,
      site_name: 'Office',
      timestamp: 1_790_000_000.25,
      type: 'AP_DISCONNECTED',
    },
  }),
  'mxedge-events': topic({
    ...usual,
    lingerMs: 1000,
    event: Type.Object({
      type: Type.String(),
      severity: Type.Enum(['info', 'warn', 'critical']),
      mxedge_id: Type.String(),
      mxedge_name: Type.String(),
      device_type: Type.Literal('mxedge'),
      org_id: Type.String(),
      timestamp: Type.Number(),
      mac: Optional(Type.String()),
      mxcluster_id: Optional(Type.String()),
      site_id: Optional(Type.String()),
      audit_id: Optional(Type.String()),
      service: Optional(Type.String()),
      component: Optional(Type.String()),
      package: Optional(Type.String()),
      from_version: Optional(Type.String()),
      to_version: Optional(Type.String()),
      text: Optional(Type.String()),
    }),
    example: {
      type: 'ME_CONFIG_CHANGED_BY_USER',
      severity: 'info',
      mxedge_id: '0193a1c0-0000-7000-8000-000000000004',
      mxedge_name: 'Edge',
      device_type: 'mxedge',
      org_id: orgId,
      timestamp: 1_790_000_000.25,
      site_id: siteId,
    },
  }),
  /** For automation: the events of upgrades of devices. Ours. */
  'upgrade-events': topic({
    ...usual,
    lingerMs: 1000,
    event: Type.Object({
      id: Type.String(),
      type: Type.Enum(keysOf(upgradeEventTypes)),
      org_id: Type.String(),
      upgrade_id: Type.String(),
      /** As its request had it. Absent: it has none. */
      upgrade_name: Optional(Type.String()),
      timestamp: Type.Number(),
      site_id: Optional(Type.String()),
      site_name: Optional(Type.String()),
      site_upgrade_id: Optional(Type.String()),
      phase: Optional(Type.Integer()),
      /** The phase is one of the downloads. Absent: one of the reboots. */
      phase_of: Optional(Type.Literal('downloads')),
      status: Optional(Type.String()),
      reason: Optional(Type.String()),
      note: Optional(Type.String()),
      /** How many further people must approve before the phase opens. Absent: none. */
      approvals_missing: Optional(Type.Integer()),
      total: Optional(Type.Integer()),
      upgraded: Optional(Type.Integer()),
      failed: Optional(Type.Integer()),
      device_id: Optional(Type.String()),
      mac: Optional(Type.String()),
      version: Optional(Type.String()),
      from_version: Optional(Type.String()),
      admin_id: Optional(NullableText),
      admin_name: Optional(Type.String()),
      audit_id: Optional(Type.String()),
    }),
    example: {
      id: '0193a1c0-0000-7000-8000-000000000008',
      type: 'UPGRADE_DEVICE_FAILED',
      org_id: orgId,
      upgrade_id: '0193a1c0-0000-7000-8000-000000000009',
      upgrade_name: 'Friday: access points of Berlin',
      timestamp: 1_790_000_000.25,
      site_id: siteId,
      site_name: 'Office',
      site_upgrade_id: '0193a1c0-0000-7000-8000-00000000000a',
      phase: 1,
      device_id: '00000000-0000-0000-1000-020000000001',
      mac: '020000000001',
      version: '2.0.0',
      from_version: '1.0.0',
      reason: 'no_reconnect',
    },
  }),
  /** Sent to a webhook on request, independently of its topics. */
  ping: topic({
    ...usual,
    subscribers: 'nobody',
    lingerMs: 0,
    event: Type.Object({
      id: Type.String(),
      name: Type.String(),
      site_id: Optional(Type.String()),
      timestamp: Type.Number(),
    }),
    example: { id: '0193a1c0-0000-7000-8000-000000000005', name: 'Alerts', timestamp: 1_790_000_000.25 },
  }),
} satisfies Record<string, TopicDeclaration<TSchema>>

export type Topic = keyof typeof topics

/** The event of each topic. */
export type TopicEvents = { readonly [T in Topic]: Static<(typeof topics)[T]['event']> }

/** Returns the topics whose events are sent to webhooks of that scope, and of no wider one. */
export function topicsFor(subscribers: 'org' | 'site'): Topic[] {
  const keys = keysOf(topics)
  return keys.filter((key) => topics[key].subscribers === subscribers)
}
