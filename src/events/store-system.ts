import { sql } from 'kysely'
import { uuidv7 } from '../platform/uuidv7.ts'
import { type Reader, type Tx, json } from '../platform/database/db.ts'
import { columnsOf, rowsAs } from '../platform/database/rows.ts'
import { type AlarmDetails } from './alarms/alarm-types.ts'
import { type AlarmKey, type NewAlarm, endAlarms, raiseAlarms } from './alarms/store.ts'
import {
  type ConditionType,
  type SystemEventType,
  alarmOfCondition,
  alarmOfEvent,
  conditionEnds,
} from './system-event-types.ts'

/** Identifies the device or webhook that a system event concerns, and counts the occurrences that it reports. */
export type SystemEventDetails = {
  readonly mac?: string
  readonly device_type?: string
  /** The firmware of an access point at that time. */
  readonly apfw?: string
  readonly webhook_id?: string
  readonly count?: number
}

export interface NewSystemEvent {
  readonly orgId: string
  readonly siteId: string | null
  readonly type: SystemEventType
  /** If several events of the organization have the same type and key, only the first is stored; null: all are. */
  readonly once: string | null
  readonly text: string
  readonly details: SystemEventDetails
}

const eventColumns = columnsOf('systemEvent', {
  orgId: 'uuid',
  id: 'uuid',
  siteId: 'uuid',
  type: 'text',
  once: 'text',
  text: 'text',
  details: 'jsonb',
})

const MAX_TEXT_CHARACTERS = 500

/** Inserts events, except for organizations that have been deleted, and raises the alarms of those that have one. */
export async function insertSystemEvents(tx: Tx, events: readonly NewSystemEvent[], at: Date): Promise<void> {
  if (events.length === 0) return
  const rows = events.map((event) => ({ ...event, id: uuidv7(), text: shorten(event.text) }))
  const { rows: inserted } = await sql<Pick<NewSystemEvent, 'orgId' | 'siteId' | 'type' | 'text' | 'details'>>`
    insert into system_event (org_id, id, site_id, type, once, text, details, created_at)
    select org.id, event.id, event.site_id, event.type, event.once, event.text, event.details, ${at}
    from ${rowsAs('event', eventColumns, rows)} join org on org.id = event.org_id
    order by org.id, event.type, event.once
    on conflict do nothing
    returning org_id, site_id, type, text, details
  `.execute(tx)
  await raiseAlarms(tx, inserted.flatMap(alarmsOf), at)
}

function alarmsOf({ orgId, siteId, type: event, text, details }: Omit<NewSystemEvent, 'once'>): NewAlarm[] {
  const type = alarmOfEvent(event)
  if (type === undefined) return []
  const { mac, webhook_id: webhookId } = details
  // Without a device or a webhook, the event concerns its place.
  const place = siteId === null ? event : `${event} ${siteId}`
  return [{ orgId, siteId, type, subject: mac ?? webhookId ?? place, text, details: aboutOf(details) }]
}

function aboutOf({ mac, device_type: deviceType, webhook_id: webhookId }: SystemEventDetails): AlarmDetails {
  return {
    ...(mac !== undefined && deviceType === 'ap' && { aps: [mac] }),
    ...(mac !== undefined && deviceType === 'switch' && { switches: [mac] }),
    ...(mac !== undefined && deviceType === 'gateway' && { gateways: [mac] }),
    ...(webhookId !== undefined && { webhook_id: webhookId }),
  }
}

function shorten(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_TEXT_CHARACTERS).toWellFormed()
}

/** A state that lasts and concerns one organization. */
export interface Condition {
  readonly orgId: string
  readonly type: ConditionType
  /** The subject of the state, such as the id of a webhook. */
  readonly subject: string
  readonly siteId: string | null
  readonly text: string
  readonly endedText: string
  /** The details of the alarm. Absent: it has none. */
  readonly about?: AlarmDetails
}

export type ConditionKey = Pick<Condition, 'orgId' | 'type' | 'subject'>

/** Lists the conditions whose end has not been reported. */
export function listOpenConditions(reader: Reader): Promise<ConditionKey[]> {
  return reader
    .selectFrom('systemCondition')
    .select(['orgId', 'type', 'subject'])
    .orderBy('orgId')
    .orderBy('type')
    .orderBy('subject')
    .execute()
}

const conditionColumns = columnsOf(
  'systemCondition',
  { orgId: 'uuid', type: 'text', subject: 'text', siteId: 'uuid', endedText: 'text' },
  { text: 'text' },
)

/**
 * Replaces the open conditions by the present ones, and inserts an event for each that has begun or ended. Concurrent
 * calls report each of them once.
 */
export async function updateConditions(tx: Tx, present: readonly Condition[], at: Date): Promise<void> {
  const rows = present.map(({ about: _, ...condition }) => ({ ...condition, text: shorten(condition.text) }))
  const { rows: begun } = await sql<ConditionKey & { siteId: string | null }>`
    insert into system_condition (org_id, type, subject, site_id, ended_text, since)
    select org.id, present.type, present.subject, present.site_id, present.ended_text, ${at}
    from ${rowsAs('present', conditionColumns, rows)} join org on org.id = present.org_id
    order by 1, 2, 3
    on conflict do nothing
    returning org_id, type, subject, site_id
  `.execute(tx)
  const { rows: ended } = await sql<ConditionKey & { siteId: string | null; endedText: string }>`
    delete from system_condition open
    where not exists (
      select from ${rowsAs('present', conditionColumns, rows)}
      where present.org_id = open.org_id and present.type = open.type and present.subject = open.subject)
    returning org_id, type, subject, site_id, ended_text
  `.execute(tx)
  const texts = new Map(rows.map((condition) => [keyOf(condition), condition.text]))
  const events = [
    ...begun.map((key) => eventOf(key, key.type, texts.get(keyOf(key)) ?? '')),
    ...ended.map((key) => eventOf(key, conditionEnds[key.type], key.endedText)),
  ]
  await insertSystemEvents(tx, events, at)
  const about = new Map(present.map((condition) => [keyOf(condition), condition.about]))
  const raised = begun.map((key): NewAlarm => {
    const { orgId, type, subject } = alarmKeyOf(key)
    return {
      orgId,
      type,
      subject,
      siteId: key.siteId,
      text: texts.get(keyOf(key)) ?? '',
      details: about.get(keyOf(key)) ?? {},
    }
  })
  await raiseAlarms(tx, raised, at)
  await endAlarms(tx, ended.map(alarmKeyOf), at)
}

/** Several conditions may raise alarms of one type, so the subject names the condition, too. */
function alarmKeyOf({ orgId, type, subject }: ConditionKey): AlarmKey {
  return { orgId, type: alarmOfCondition(type), subject: `${type} ${subject}` }
}

function eventOf(
  { orgId, siteId }: Pick<Condition, 'orgId' | 'siteId'>,
  type: SystemEventType,
  text: string,
): NewSystemEvent {
  return { orgId, siteId, type, text, once: null, details: {} }
}

/** Identifies a condition in a map. */
function keyOf({ orgId, type, subject }: ConditionKey): string {
  return json([orgId, type, subject])
}
