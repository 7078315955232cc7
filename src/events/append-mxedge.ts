import type { InOrg } from '../access/scope.ts'
import { epochS } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { insertMxedgeEvents, insertOutbox } from './store.ts'
import type { TopicEvents } from './topics.ts'

/** The edge appliance of an event. */
export interface EventMxedge {
  readonly id: string
  readonly name: string
  readonly mac: string | null
  readonly mxclusterId: string | null
  readonly siteId: string | null
}

/** The names of these events and their descriptions, as the interface's constants list them. */
export const mxedgeEventTypes = {
  ME_CONFIG_CHANGED_BY_USER: 'Configuration changed by user',
} as const

export interface MxedgeEventInput {
  readonly mxedge: EventMxedge
  readonly type: keyof typeof mxedgeEventTypes
  readonly auditId: string
  readonly text: string
}

/** Appends events of edge appliances in the caller's transaction, with two statements for any number of events. */
export async function appendMxedgeEvents(
  tx: Tx,
  scope: InOrg,
  deviceEvents: readonly MxedgeEventInput[],
  at: Date,
): Promise<void> {
  if (deviceEvents.length === 0) return
  const { orgId } = scope
  const events = deviceEvents.map((input) => mxedgeEvent(orgId, input, at))
  await insertMxedgeEvents(tx, events, at)
  await insertOutbox(
    tx,
    events.map((event) => ({ orgId, siteId: event.site_id ?? null, topic: 'mxedge-events' as const, event })),
    at,
  )
}

function mxedgeEvent(
  orgId: string,
  { mxedge, type, auditId, text }: MxedgeEventInput,
  at: Date,
): TopicEvents['mxedge-events'] {
  const { id, name, mac, mxclusterId, siteId } = mxedge
  return {
    type,
    mxedge_id: id,
    mxedge_name: name,
    device_type: 'mxedge',
    org_id: orgId,
    timestamp: epochS(at),
    ...(mac !== null && { mac }),
    ...(mxclusterId !== null && { mxcluster_id: mxclusterId }),
    ...(siteId !== null && { site_id: siteId }),
    audit_id: auditId,
    text,
  }
}
