import { uuidv7 } from 'uuidv7'
import { type Tx, json } from '../platform/db.ts'
import type { AuditEvent, DeviceEvent, Topic, TopicEvents } from './topics.ts'

export interface NewOutboxEvent {
  readonly orgId: string
  readonly siteId: string | null
  readonly topic: Topic
  readonly event: TopicEvents[Topic]
}

export async function insertOutbox(tx: Tx, events: readonly NewOutboxEvent[], at: Date): Promise<void> {
  const rows = events.map(({ event, ...row }) => ({ ...row, id: uuidv7(), event: json(event), createdAt: at }))
  for (const some of slices(rows)) await tx.insertInto('webhookOutbox').values(some).execute()
}

export async function insertAuditLog(tx: Tx, event: AuditEvent, at: Date): Promise<void> {
  await tx
    .insertInto('auditLog')
    .values({
      orgId: event.org_id,
      id: event.id,
      siteId: event.site_id,
      adminId: event.admin_id,
      adminName: event.admin_name,
      message: event.message,
      srcIp: event.src_ip,
      userAgent: event.user_agent,
      before: event.before ? json(event.before) : null,
      after: event.after ? json(event.after) : null,
      createdAt: at,
    })
    .execute()
}

export interface NewDeviceEvent {
  readonly orgId: string
  readonly deviceId: string
  readonly siteId: string | null
  readonly event: DeviceEvent
}

export async function insertDeviceEvents(tx: Tx, events: readonly NewDeviceEvent[], at: Date): Promise<void> {
  const rows = events.map(({ event, ...row }) => ({
    ...row,
    id: uuidv7(),
    type: event.type,
    event: json(event),
    createdAt: at,
  }))
  for (const some of slices(rows)) await tx.insertInto('deviceEvent').values(some).execute()
}

/** The protocol allows 65,535 parameters a statement; a row here has at most seven. */
const ROWS_PER_STATEMENT = 5000

function slices<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT)
    parts.push(rows.slice(start, start + ROWS_PER_STATEMENT))
  return parts
}
