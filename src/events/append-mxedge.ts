import type { InOrg } from '../access/scope.ts'
import { epochS } from '../platform/time/clock.ts'
import type { Tx } from '../platform/database/db.ts'
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

interface MxedgeEventDeclaration {
  readonly severity: TopicEvents['mxedge-events']['severity']
  readonly display: string
  readonly description: string
}

/** The types of these events, by their names. */
const mxedgeEvents = {
  ME_CONFIG_CHANGED_BY_USER: {
    severity: 'info',
    display: 'Configuration changed by user',
    description: 'A person has changed the record of the edge appliance',
  },
  ME_REGISTERED: {
    severity: 'info',
    display: 'Registered',
    description: 'An agent has registered as the edge appliance',
  },
  ME_CERTIFICATE_RENEWED: {
    severity: 'info',
    display: 'Certificate renewed',
    description: 'The agent of the edge appliance has connected with a new certificate, and the former one has ended',
  },
  ME_CONNECTED: {
    severity: 'info',
    display: 'Connected',
    description: 'The edge appliance has connected',
  },
  ME_DISCONNECTED: {
    severity: 'warn',
    display: 'Disconnected',
    description: 'The edge appliance has lost its connection',
  },
  ME_RESTARTED: {
    severity: 'info',
    display: 'Restarted',
    description: 'The edge appliance has connected with another boot id',
  },
  ME_SERVICE_STARTED: {
    severity: 'info',
    display: 'Service started',
    description: 'A service was started on request, or runs again as the reports say',
  },
  ME_SERVICE_STOPPED: {
    severity: 'warn',
    display: 'Service stopped',
    description: 'A service was stopped on request, or has stopped as the reports say',
  },
  ME_SERVICE_RESTARTED: {
    severity: 'info',
    display: 'Service restarted',
    description: 'A service was restarted on request',
  },
  ME_SERVICE_FAILED: {
    severity: 'critical',
    display: 'Service control failed',
    description: 'A service could not be started, stopped or restarted on request, or has failed as the reports say',
  },
  ME_PORTS_BOUNCED: {
    severity: 'info',
    display: 'Data ports bounced',
    description: 'Data ports were taken down and up again on request',
  },
  ME_APS_DISCONNECTED: {
    severity: 'info',
    display: 'Access points disconnected',
    description: 'Access points were disconnected on request',
  },
  ME_CONFIGURED: {
    severity: 'info',
    display: 'Configuration applied',
    description: 'The edge appliance has applied its configuration',
  },
  ME_PACKAGE_UPDATE_BY_USER: {
    severity: 'info',
    display: 'Package update by user',
    description: 'A person has requested another version of a package',
  },
  ME_PACKAGE_DOWNLOADED: {
    severity: 'info',
    display: 'Package downloaded',
    description: 'The edge appliance has downloaded a package and checked it; it is not installed yet',
  },
  ME_PACKAGE_UPDATED: {
    severity: 'info',
    display: 'Package updated',
    description: 'The edge appliance has installed a package, and its service reports the new version',
  },
  ME_PACKAGE_UPDATE_FAILED: {
    severity: 'warn',
    display: 'Package update failed',
    description: 'The edge appliance could not download or install a package, or could not be reached in time',
  },
  ME_DISTRO_UPGRADE_BY_USER: {
    severity: 'info',
    display: 'Distribution upgrade by user',
    description: 'A person has requested another Linux distribution',
  },
  ME_DISTRO_DOWNLOADED: {
    severity: 'info',
    display: 'Distribution downloaded',
    description:
      'The edge appliance has downloaded what an upgrade of its Linux distribution needs; nothing has changed',
  },
  ME_DISTRO_UPGRADED: {
    severity: 'info',
    display: 'Distribution upgraded',
    description: 'The edge appliance has upgraded its Linux distribution',
  },
  ME_DISTRO_UPGRADE_FAILED: {
    severity: 'warn',
    display: 'Distribution upgrade failed',
    description:
      'The edge appliance could not download or upgrade its Linux distribution, or could not be reached in time',
  },
  ME_SUPPORT_FILES_UPLOADED: {
    severity: 'info',
    display: 'Support files uploaded',
    description: 'The edge appliance has collected support files and uploaded them on request',
  },
  ME_COMMAND_FAILED: {
    severity: 'warn',
    display: 'Command failed',
    description: 'The edge appliance has not executed a command, or could not be reached in time',
  },
} as const satisfies Readonly<Record<string, MxedgeEventDeclaration>>

/** Returns every type of event of edge appliances. */
export function mxedgeEventTypes(): EventTypeDefinition[] {
  return Object.entries(mxedgeEvents).map(([key, type]) => definitionOf(key, type))
}

function definitionOf(key: string, { severity, ...type }: MxedgeEventDeclaration): EventTypeDefinition {
  return { key, ...type, example: { ...topics['mxedge-events'].example, type: key, severity } }
}

export interface MxedgeEventInput {
  readonly mxedge: EventMxedge
  readonly type: keyof typeof mxedgeEvents
  readonly auditId?: string
  readonly text?: string
  readonly service?: string
  /** The affected part of the appliance, such as its data ports. */
  readonly component?: string
  readonly update?: PackageUpdate
}

/** The fields of an event about the update of a package. */
export interface PackageUpdate {
  readonly package: string
  /** Null: it was not installed. */
  readonly from: string | null
  readonly to: string
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
  { mxedge, type, auditId, text, service, component, update }: MxedgeEventInput,
  at: Date,
): TopicEvents['mxedge-events'] {
  const { id, name, mac, mxclusterId, siteId } = mxedge
  return {
    type,
    severity: mxedgeEvents[type].severity,
    mxedge_id: id,
    mxedge_name: name,
    device_type: 'mxedge',
    org_id: orgId,
    timestamp: epochS(at),
    ...(mac !== null && { mac }),
    ...(mxclusterId !== null && { mxcluster_id: mxclusterId }),
    ...(siteId !== null && { site_id: siteId }),
    ...(auditId !== undefined && { audit_id: auditId }),
    ...(service !== undefined && { service }),
    ...(component !== undefined && { component }),
    ...(update !== undefined && presentUpdate(update)),
    ...(text !== undefined && { text }),
  }
}

function presentUpdate({ package: name, from, to }: PackageUpdate) {
  return { package: name, ...(from !== null && { from_version: from }), to_version: to }
}
