/**
 * The topics that Signalbox emits, and the shape of one event of each. Names and members as the
 * interface's clients know them; `timestamp` is epoch seconds.
 */
export interface TopicEvents {
  audits: AuditEvent
  'device-events': DeviceEvent
  'device-updowns': UpdownEvent
  'mxedge-events': MxedgeEvent
  ping: PingEvent
}

export type Topic = keyof TopicEvents

export interface AuditEvent {
  readonly id: string
  readonly timestamp: number
  readonly org_id: string
  readonly site_id: string | null
  readonly admin_id: string | null
  readonly admin_name: string
  readonly message: string
  readonly src_ip: string | null
  readonly user_agent: string | null
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
}

export interface DeviceEvent {
  readonly device_name: string
  readonly device_type: 'ap' | 'switch' | 'gateway'
  readonly ev_type: 'notice' | 'warn'
  readonly mac: string
  readonly org_id: string
  readonly timestamp: number
  readonly type: string
  readonly ap?: string
  readonly ap_name?: string
  readonly site_id?: string
  readonly site_name?: string
  readonly audit_id?: string
  readonly reason?: string
  readonly text?: string
}

export interface UpdownEvent {
  readonly ap: string
  readonly ap_name: string
  readonly org_id: string
  readonly site_id?: string
  readonly site_name?: string
  readonly timestamp: number
  readonly type: string
}

export interface MxedgeEvent {
  readonly type: string
  readonly mxedge_id: string
  readonly mxedge_name: string
  readonly device_type: 'mxedge'
  readonly org_id: string
  readonly timestamp: number
  readonly mac?: string
  readonly mxcluster_id?: string
  readonly site_id?: string
  readonly audit_id?: string
  readonly text?: string
}

export interface PingEvent {
  readonly id: string
  readonly name: string
  readonly site_id: string | null
  readonly timestamp: number
}

export interface TopicTraits {
  readonly forOrg: boolean
  readonly hasDeliveryResults: boolean
  readonly allowsSingleEventPerMessage: boolean
  /** How long the router may wait for more events of the topic, to send them together. */
  readonly lingerMs: number
}

export const topics = {
  audits: { forOrg: true, hasDeliveryResults: true, allowsSingleEventPerMessage: true, lingerMs: 0 },
  'device-events': { forOrg: true, hasDeliveryResults: true, allowsSingleEventPerMessage: true, lingerMs: 1000 },
  'device-updowns': { forOrg: true, hasDeliveryResults: true, allowsSingleEventPerMessage: true, lingerMs: 0 },
  'mxedge-events': { forOrg: true, hasDeliveryResults: true, allowsSingleEventPerMessage: true, lingerMs: 1000 },
  ping: { forOrg: true, hasDeliveryResults: true, allowsSingleEventPerMessage: true, lingerMs: 0 },
} satisfies Record<Topic, TopicTraits>
