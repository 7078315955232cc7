import { type Static, Type } from 'typebox'
import { type UpgradeEventType, upgradeEventTypes } from '../../events/upgrade-event-types.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import type { UpgradeEvent } from '../../rollout/events/store.ts'
import { withoutUndefined } from '../../platform/records.ts'

const decisionTypes = [
  'UPGRADE_CREATED',
  'UPGRADE_HELD',
  'UPGRADE_PAUSED',
  'UPGRADE_RESUMED',
  'UPGRADE_APPROVED',
  'UPGRADE_CHECK_PASSED',
  'UPGRADE_WAIT_ENDED',
  'UPGRADE_RETRIED',
  'UPGRADE_DEVICES_TAKEN',
  'UPGRADE_DEVICES_EXCLUDED',
  'UPGRADE_DEVICES_JOINED',
  'UPGRADE_CANCELLED',
  'UPGRADE_END_REACHED',
  'UPGRADE_STOPPED',
] as const satisfies readonly UpgradeEventType[]
const isDecision: ReadonlySet<UpgradeEventType> = new Set(decisionTypes)

export const DecisionReply = named(
  'UpgradeDecision',
  Type.Object({
    type: Type.Enum(Object.keys(upgradeEventTypes)),
    timestamp: Timestamp,
    name: Type.Optional(Type.String({ description: 'The person who decided; the engine is `rollout`' })),
    admin_id: Type.Optional(Type.Union([Uuid, Type.Null()])),
    phase: Type.Optional(Type.Integer()),
    phase_of: Type.Optional(Type.Literal('downloads')),
    site_id: Type.Optional(Uuid),
    total: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String()),
    note: Type.Optional(Type.String()),
    approvals_missing: Type.Optional(
      Type.Integer({ description: 'how many further people had to approve after an approval' }),
    ),
    audit_id: Type.Optional(Uuid),
  }),
)

/** Presents the events that are decisions of a person or the engine. */
export function presentDecisions(events: readonly UpgradeEvent[]): Static<typeof DecisionReply>[] {
  return events.filter(({ type }) => isDecision.has(type)).map(presentDecision)
}

function presentDecision(event: UpgradeEvent): Static<typeof DecisionReply> {
  const { type, timestamp, admin_name: name, ...rest } = event
  const { admin_id, phase, phase_of, site_id, total, reason, note, approvals_missing, audit_id } = rest
  const place = { phase, phase_of, site_id }
  const why = { total, reason, note, approvals_missing, audit_id }
  return withoutUndefined({ type, timestamp, name, admin_id, ...place, ...why })
}
