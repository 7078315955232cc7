import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { searchReplyOf } from '../../http/lists/search.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { MxedgeEventRecord } from './store.ts'

/** The members of the topic `mxedge-events`. */
const EventReply = named(
  'MxedgeEvent',
  Type.Object(
    {
      type: Type.String(),
      severity: Type.Optional(
        Type.Enum(['info', 'warn', 'critical'], { description: 'missing in events of earlier versions' }),
      ),
      mxedge_id: Uuid,
      mxedge_name: Type.Optional(Type.String()),
      device_type: Type.Optional(Type.String()),
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      mxcluster_id: Type.Optional(Uuid),
      mac: Type.Optional(Type.String()),
      audit_id: Type.Optional(Uuid),
      service: Type.Optional(Type.String()),
      component: Type.Optional(Type.String({ description: 'the part of the appliance, such as `port 0, port 1`' })),
      package: Type.Optional(Type.String()),
      from_version: Type.Optional(Type.String()),
      to_version: Type.Optional(Type.String()),
      text: Type.Optional(Type.String()),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

const { properties } = searchReplyOf(EventReply)
export const EventSearchReply = named('MxedgeEventSearchResult', Type.Object({ ...properties, page: Type.Integer() }))

/** Presents the event as webhooks received it. */
export function presentEvent({
  orgId,
  mxedgeId,
  type,
  event,
  createdAt,
}: MxedgeEventRecord): Static<typeof EventReply> {
  return { ...event, type, mxedge_id: mxedgeId, org_id: orgId, timestamp: epochS(createdAt) }
}
