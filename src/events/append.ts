import { uuidv7 } from '../platform/uuidv7.ts'
import type { InOrg } from '../access/scope.ts'
import { epochS } from '../platform/time/clock.ts'
import { EncodedJson, type Tx } from '../platform/database/db.ts'
import { splitRows } from '../platform/database/split.ts'
import { type DeviceEventName, deviceEvents, families, kindOf } from './device-event-types.ts'
import type { DeviceType } from './device-type.ts'
import { reduceChange } from './reduce-change.ts'
import { insertOutbox, listHeardTopics } from './store.ts'
import { type NewAuditRecord, insertAudit } from './store-audits.ts'
import { type NewDeviceEvent, type StoredDeviceEvent, insertDeviceEvents } from './store-device-events.ts'
import type { Topic, TopicEvents } from './topics.ts'

/**
 * One change by a person or a worker. `before` and `after` are wire documents without secrets; reduceChange() decides
 * which parts are stored.
 */
export interface Audit {
  readonly message: string
  readonly siteId?: string | null
  /** The name of the site, if the caller knows it; otherwise it is looked up at the end of the transaction. */
  readonly siteName?: string | undefined
  /** The device, if the change concerns a single one. */
  readonly deviceId?: string | undefined
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  readonly at: Date
}

/**
 * Appends the audit record and its `audits` event in the caller's transaction, so that a change and its record commit
 * together or not at all.
 * @returns The id of the audit record, for the events that the change causes.
 */
export async function appendAudit(tx: Tx, scope: InOrg, audit: Audit): Promise<string> {
  const record = auditRecord(scope, audit)
  await insertAudit(tx, record)
  return record.id
}

/** Returns the record with a new id, for auditedChange(). */
export function auditRecord({ actor, orgId }: InOrg, audit: Audit): NewAuditRecord {
  const { siteId = null, siteName, deviceId } = audit
  const { before = null, after = null } = reduceChange(audit)
  return {
    orgId,
    id: uuidv7(),
    siteId,
    siteName: siteName ?? null,
    deviceId: deviceId ?? null,
    adminId: actor.adminId,
    adminName: actor.name,
    message: audit.message,
    srcIp: actor.srcIp === '' ? null : actor.srcIp,
    userAgent: actor.userAgent,
    before,
    after,
    createdAt: audit.at,
  }
}

/** The device of an event. */
export interface EventDevice {
  readonly id: string
  readonly mac: string
  readonly type: DeviceType
  readonly name: string | null
  readonly siteId: string | null
  readonly siteName: string | null
  /** The version that it runs, if it is known. */
  readonly firmware?: string | null
}

/** One event of a device. `what` is the name without its family: `CONNECTED` gives `AP_CONNECTED`. */
export interface DeviceEventInput {
  readonly device: EventDevice
  readonly what: DeviceEventName
  readonly auditId?: string
  readonly reason?: string
  readonly text?: string
  /** The port that it is about, and how often its link has changed. */
  readonly port?: { readonly id: string; readonly count: number }
}

const updowns: ReadonlySet<DeviceEventName> = new Set(['CONNECTED', 'DISCONNECTED', 'RESTARTED'])

/**
 * Appends device events in the caller's transaction. An event about a device that is up or down also gets its
 * `device-updowns` twin. It takes two statements for a thousand events.
 */
export async function appendDeviceEvents(
  tx: Tx,
  scope: InOrg,
  deviceEvents: readonly DeviceEventInput[],
  at: Date,
): Promise<void> {
  for (const part of splitRows(deviceEvents)) await appendPart(tx, scope, part, at)
}

/** The topics of fewer events are not looked up: the statement that inserts events for webhooks looks anyway. */
const FEW = 4

async function appendPart(tx: Tx, { orgId }: InOrg, inputs: readonly DeviceEventInput[], at: Date): Promise<void> {
  const rows = inputs.map((input): NewDeviceEvent => {
    const { device, what } = input
    return {
      orgId,
      siteId: device.siteId,
      deviceId: device.id,
      kind: kindOf(device.type, what),
      deviceName: device.name === device.mac ? null : device.name,
      siteName: device.siteName,
      apfw: versionOf(device),
      event: new EncodedJson(membersOf(input)),
    }
  })
  await insertDeviceEvents(tx, rows, at)
  const heard = inputs.length > FEW ? await listHeardTopics(tx, { orgId }) : null
  const ofTopic = <R>(topic: Topic, some: readonly R[]): readonly R[] =>
    heard === null || heard.has(topic) ? some : []
  const twins = ofTopic('device-updowns', inputs).filter(({ what }) => updowns.has(what))
  await insertOutbox(
    tx,
    [
      ...ofTopic('device-events', inputs).map((input) => ({
        orgId,
        siteId: input.device.siteId,
        topic: 'device-events' as const,
        event: deviceEvent(orgId, input, at),
      })),
      ...twins.map(({ device, what }) => ({
        orgId,
        siteId: device.siteId,
        topic: 'device-updowns' as const,
        event: updownEvent(orgId, device, what, at),
      })),
    ],
    at,
  )
}

/** A device words its own refusals; longer texts are cut. */
const MAX_TEXT_CHARACTERS = 1000

/** The version that the device of the event runs, if the event shows it: those of access points do. */
function versionOf({ type, firmware = null }: EventDevice): string | null {
  return type === 'ap' ? firmware : null
}

/** The members of the event that no column has. */
function membersOf({ auditId, reason, text, port }: DeviceEventInput): StoredDeviceEvent {
  return {
    ...(auditId !== undefined && { audit_id: auditId }),
    ...(reason !== undefined && { reason }),
    ...(port !== undefined && { port_id: port.id, count: port.count }),
    ...(text !== undefined && { text: text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed() }),
  }
}

function deviceEvent(orgId: string, input: DeviceEventInput, at: Date): TopicEvents['device-events'] {
  const { device, what } = input
  const apfw = versionOf(device)
  return {
    device_name: device.name ?? device.mac,
    device_type: device.type,
    ev_type: deviceEvents[what].level,
    mac: device.mac,
    org_id: orgId,
    timestamp: epochS(at),
    type: `${families[device.type]}_${what}`,
    ...(device.type === 'ap' && { ap: device.mac, ap_name: device.name ?? device.mac }),
    ...(apfw !== null && { apfw }),
    ...(device.siteId !== null && { site_id: device.siteId }),
    ...(device.siteName !== null && { site_name: device.siteName }),
    ...membersOf(input),
  }
}

/** Some clients of the topic read `ap` for every type of devices, others the members of `device-events`. */
function updownEvent(
  orgId: string,
  device: EventDevice,
  what: DeviceEventName,
  at: Date,
): TopicEvents['device-updowns'] {
  const name = device.name ?? device.mac
  return {
    ap: device.mac,
    ap_name: name,
    device_name: name,
    device_type: device.type,
    mac: device.mac,
    org_id: orgId,
    for_site: device.siteId !== null,
    ...(device.siteId !== null && { site_id: device.siteId }),
    ...(device.siteName !== null && { site_name: device.siteName }),
    timestamp: epochS(at),
    type: `${families[device.type]}_${what}`,
  }
}
