import { type Static, Type } from 'typebox'
import { alarmSeverities, alarms } from '../../events/alarms/alarm-types.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { FoundAlarm } from './store.ts'

const Texts = Type.Array(Type.String())

/** The published Go SDK decodes no fractions here, although it does in `timestamp`. */
const WholeSeconds = (meaning: string) => Type.Integer({ description: `in epoch seconds, ${meaning}` })

/** Source: contract, "Event and alarm names in use", and the published shape of alarms. */
export const AlarmReply = named(
  'Alarm',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    type: Type.String(),
    group: Type.String(),
    severity: Type.Enum([...alarmSeverities]),
    status: Type.Enum(['open', 'resolved']),
    timestamp: Timestamp,
    last_seen: Timestamp,
    resolved_time: Type.Optional(
      WholeSeconds('when its cause ended, or an acknowledgment ended it; missing: it is open'),
    ),
    count: Type.Integer({ description: 'how often its cause has come' }),
    text: Type.String(),
    acked: Type.Boolean({ description: 'whether a person has acknowledged it; that does not end every alarm' }),
    acked_time: Type.Optional(WholeSeconds('when a person acknowledged it')),
    ack_admin_id: Type.Optional(Type.String({ format: 'uuid', description: 'the person who acknowledged it' })),
    ack_admin_name: Type.Optional(Type.String()),
    note: Type.Optional(Type.String({ description: 'of the person who acknowledged it' })),
    aps: Type.Optional(Texts),
    switches: Type.Optional(Texts),
    gateways: Type.Optional(Texts),
    hostnames: Type.Optional(Texts),
    upgrade_id: Type.Optional(Uuid),
    webhook_id: Type.Optional(Uuid),
  }),
)

export function presentAlarm(alarm: FoundAlarm): Static<typeof AlarmReply> {
  const { aps, switches, gateways, hostnames, ...about } = alarm.details
  const { group, severity } = alarms[alarm.type]
  return {
    id: alarm.id,
    org_id: alarm.orgId,
    ...(alarm.siteId !== null && { site_id: alarm.siteId }),
    type: alarm.type,
    group,
    severity,
    status: alarm.endedAt === null ? 'open' : 'resolved',
    timestamp: epochS(alarm.createdAt),
    last_seen: epochS(alarm.lastSeenAt),
    ...(alarm.endedAt !== null && { resolved_time: Math.floor(epochS(alarm.endedAt)) }),
    count: alarm.count,
    text: alarm.text,
    acked: alarm.ackedAt !== null,
    ...(alarm.ackedAt !== null && { acked_time: Math.floor(epochS(alarm.ackedAt)) }),
    ...(alarm.ackedBy !== null && { ack_admin_id: alarm.ackedBy }),
    ...(alarm.ackedByName !== null && { ack_admin_name: alarm.ackedByName }),
    ...(alarm.note !== null && { note: alarm.note }),
    ...(aps !== undefined && { aps: [...aps] }),
    ...(switches !== undefined && { switches: [...switches] }),
    ...(gateways !== undefined && { gateways: [...gateways] }),
    ...(hostnames !== undefined && { hostnames: [...hostnames] }),
    ...about,
  }
}

const note = { note: Type.Optional(Type.String({ maxLength: 500 })) }

export const NoteBody = named('AlarmNote', Type.Object(note))

/** The same limit as for the results of a search. */
const ids = { alarm_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1000 }) }
export const AckBody = named('AlarmsAck', Type.Object({ ...ids, ...note }))
