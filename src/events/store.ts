import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { type Tx, json } from '../platform/db.ts'
import { splitByBytes } from '../platform/split.ts'
import type { Topic, TopicEvents } from './topics.ts'

/** An event of whichever topic, with the shape of that topic. */
export type NewOutboxEvent = {
  [T in Topic]: {
    readonly orgId: string
    readonly siteId: string | null
    readonly topic: T
    readonly event: TopicEvents[T]
  }
}[Topic]

/** Bounds the rows of one statement, which carries them as one JSON text. */
const partLimits = { count: 1000, bytes: 4 * 1024 * 1024 }

/** Splits the rows into JSON texts of bounded size. */
function partsOf(rows: readonly Record<string, unknown>[]): string[] {
  const texts = rows.map((row) => json(row))
  return splitByBytes(texts, (text) => text.length, partLimits).map((part) => `[${part.join(',')}]`)
}

export async function insertOutbox(tx: Tx, events: readonly NewOutboxEvent[], at: Date): Promise<void> {
  const rows = events.map(({ orgId, siteId, topic, event }) => ({
    id: uuidv7(),
    org_id: orgId,
    site_id: siteId,
    topic,
    event,
  }))
  for (const part of partsOf(rows))
    await sql`
    insert into webhook_outbox (id, org_id, site_id, topic, event, created_at)
    select id, org_id, site_id, topic, event, ${at}::timestamptz
    from jsonb_to_recordset(${part}::jsonb) as new (id uuid, org_id uuid, site_id uuid, topic text, event jsonb)
  `.execute(tx)
}

export async function insertAuditLog(tx: Tx, event: TopicEvents['audits'], at: Date): Promise<void> {
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
  readonly event: TopicEvents['device-events']
}

export async function insertDeviceEvents(tx: Tx, events: readonly NewDeviceEvent[], at: Date): Promise<void> {
  const rows = events.map(({ orgId, deviceId, siteId, event }) => ({
    org_id: orgId,
    id: uuidv7(),
    device_id: deviceId,
    site_id: siteId,
    type: event.type,
    event,
  }))
  for (const part of partsOf(rows))
    await sql`
    insert into device_event (org_id, id, device_id, site_id, type, event, created_at)
    select org_id, id, device_id, site_id, type, event, ${at}::timestamptz
    from jsonb_to_recordset(${part}::jsonb)
      as new (org_id uuid, id uuid, device_id uuid, site_id uuid, type text, event jsonb)
  `.execute(tx)
}

export async function insertMxedgeEvents(
  tx: Tx,
  events: readonly TopicEvents['mxedge-events'][],
  at: Date,
): Promise<void> {
  const rows = events.map((event) => ({
    org_id: event.org_id,
    id: uuidv7(),
    mxedge_id: event.mxedge_id,
    mxcluster_id: event.mxcluster_id ?? null,
    site_id: event.site_id ?? null,
    type: event.type,
    event,
  }))
  for (const part of partsOf(rows))
    await sql`
    insert into mxedge_event (org_id, id, mxedge_id, mxcluster_id, site_id, type, event, created_at)
    select org_id, id, mxedge_id, mxcluster_id, site_id, type, event, ${at}::timestamptz
    from jsonb_to_recordset(${part}::jsonb)
      as new (org_id uuid, id uuid, mxedge_id uuid, mxcluster_id uuid, site_id uuid, type text, event jsonb)
  `.execute(tx)
}
