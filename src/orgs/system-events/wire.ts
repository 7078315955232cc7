import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { systemEvents } from '../../events/system-event-types.ts'
import type { FoundEvent } from './store.ts'

const Severity = Type.Enum(['info', 'warn', 'critical'])

/** Source: contract, `org_event`. */
export const OrgEventReply = named(
  'OrgEvent',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    type: Type.String(),
    text: Type.String(),
    severity: Severity,
    timestamp: Timestamp,
  }),
)

/** Source: contract, `response_events_org_system_search` and `event`. */
export const SystemEventReply = named(
  'SystemEvent',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    type: Type.String(),
    scope: Type.Enum(['org', 'site'], { description: 'whether it concerns the organization or one of its sites' }),
    change_cat: Type.String({ description: 'the subject, such as `storage`' }),
    metadata: Type.String({ description: 'JSON with details beyond the text' }),
    text: Type.String(),
    severity: Severity,
    mac: Type.Optional(Type.String({ description: 'of the device that it is about' })),
    ap: Type.Optional(Type.String({ description: 'the same, of an access point' })),
    apfw: Type.Optional(Type.String({ description: 'the firmware of the access point at that time' })),
    device_type: Type.Optional(Type.String()),
    count: Type.Optional(Type.Integer({ description: 'the number of objects that the text names' })),
    timestamp: Timestamp,
  }),
)

export function presentOrgEvent({ id, orgId, type, text, createdAt }: FoundEvent): Static<typeof OrgEventReply> {
  return { id, org_id: orgId, type, text, severity: systemEvents[type].severity, timestamp: epochS(createdAt) }
}

export function presentSystemEvent(event: FoundEvent): Static<typeof SystemEventReply> {
  const { siteId, type, details } = event
  const { mac, device_type: deviceType, apfw, count: times } = details
  return {
    ...presentOrgEvent(event),
    ...(siteId !== null && { site_id: siteId }),
    scope: siteId === null ? 'org' : 'site',
    change_cat: systemEvents[type].category,
    metadata: JSON.stringify(details),
    ...(typeof mac === 'string' && { mac, ...(deviceType === 'ap' && { ap: mac }) }),
    ...(typeof deviceType === 'string' && { device_type: deviceType }),
    ...(typeof apfw === 'string' && { apfw }),
    ...(typeof times === 'number' && { count: times }),
  }
}
