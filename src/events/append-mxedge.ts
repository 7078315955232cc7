import type { InOrg } from '../access/scope.ts'
import { epochS } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import type { EventTypeDefinition } from './device-event-types.ts'
import { insertMxedgeEvents, insertOutbox } from './store.ts'
import { type TopicEvents, topics } from './topics.ts'

/** The edge appliance of an event. */
export interface EventMxedge {
  readonly id: string
  readonly name: string
  readonly mac: string | null
  readonly mxclusterId: string | null
  readonly siteId: string | null
}

/** The types of these events, by their names. */
const mxedgeEvents = {
  ME_CONFIG_CHANGED_BY_USER: {
    display: 'Configuration changed by user',
    description: 'A person has changed the record of the edge appliance',
  },
} as const satisfies Readonly<Record<string, Pick<EventTypeDefinition, 'display' | 'description'>>>

/** Returns every type of event of edge appliances. */
export function mxedgeEventTypes(): EventTypeDefinition[] {
  return Object.entries(mxedgeEvents).map(([key, type]) => definitionOf(key, type))
}

function definitionOf(key: string, type: (typeof mxedgeEvents)[keyof typeof mxedgeEvents]): EventTypeDefinition {
  return { key, ...type, example: { ...topics['mxedge-events'].example, type: key } }
}

export interface MxedgeEventInput {
  readonly mxedge: EventMxedge
  readonly type: keyof typeof mxedgeEvents
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
