import { type RawBuilder, type Selectable, sql } from 'kysely'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { splitRows } from '../../platform/database/split.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { insertOutbox, partLimits } from '../store.ts'
import type { AlarmTable } from '../tables.ts'
import type { TopicEvents } from '../topics.ts'
import { type AlarmDetails, type AlarmType, type LastingAlarmType, alarms } from './alarm-types.ts'

export interface NewAlarm {
  readonly orgId: string
  readonly siteId: string | null
  readonly type: AlarmType
  /** The subject: if an alarm of the same type and subject still counts, it is counted up instead. */
  readonly subject: string
  readonly text: string
  readonly details: AlarmDetails
}

export type AlarmKey = Pick<NewAlarm, 'orgId' | 'subject'> & { readonly type: LastingAlarmType }

type AlarmRow = Selectable<AlarmTable>
/** An alarm with the name of its site, which receivers show. */
type NamedAlarm = AlarmRow & { readonly siteName: string | null }
type AlarmId = Pick<AlarmRow, 'orgId' | 'id'>

const newColumns = columnsOf('alarm', {
  orgId: 'uuid',
  id: 'uuid',
  siteId: 'uuid',
  type: 'text',
  subject: 'text',
  text: 'text',
  details: 'jsonb',
  lasts: 'boolean',
})

const siteName = sql<
  string | null
>`(select name from site where site.org_id = alarm.org_id and site.id = alarm.site_id)`.as('siteName')

/**
 * Raises alarms in the transaction of their cause, and appends their events. One that lasts and is open already is not
 * raised again. Organizations that have been deleted get none.
 */
export async function raiseAlarms(tx: Tx, raised: readonly NewAlarm[], at: Date): Promise<void> {
  if (raised.length === 0) return
  const distinct = new Map(raised.map((alarm) => [`${alarm.orgId} ${alarm.type} ${alarm.subject}`, alarm]))
  const rows = [...distinct.values()].map((alarm) =>
    Object.assign({ id: uuidv7(), lasts: alarms[alarm.type].lasts }, alarm),
  )
  const { rows: begun } = await sql<NamedAlarm>`
    insert into alarm (org_id, id, site_id, type, subject, text, details, lasts, created_at, last_seen_at)
    select org.id, new.id, new.site_id, new.type, new.subject, new.text, new.details, new.lasts, ${at}, ${at}
    from ${rowsAs('new', newColumns, rows)} join org on org.id = new.org_id
    order by org.id, new.type, new.subject
    on conflict (org_id, type, subject) where counting do update
    set count = alarm.count + 1, last_seen_at = excluded.last_seen_at, ended_at = null, site_id = excluded.site_id,
      text = excluded.text, details = excluded.details
    where alarm.ended_at is not null or not alarm.lasts
    returning alarm.*, ${siteName}
  `.execute(tx)
  noteChanges(tx, 'alarm', begun)
  await insertAlarmEvents(tx, begun, at)
}

const textColumns = columnsOf('alarm', { orgId: 'uuid', type: 'text', subject: 'text', text: 'text' })

/** Updates the texts of these of the open alarms whose cause has changed and continues. That is no event. */
export async function updateAlarmTexts(tx: Tx, lasting: readonly NewAlarm[]): Promise<void> {
  if (lasting.length === 0) return
  const { rows } = await sql<AlarmRow>`
    update alarm set text = new.text
    from ${rowsAs('new', textColumns, lasting)}
    where alarm.org_id = new.org_id and alarm.type = new.type and alarm.subject = new.subject
      and alarm.counting and alarm.ended_at is null and alarm.text <> new.text
    returning alarm.*
  `.execute(tx)
  noteChanges(tx, 'alarm', rows)
}

const keyColumns = columnsOf('alarm', { orgId: 'uuid', type: 'text', subject: 'text' })

/** Ends the open alarms of these, and appends their events. */
export async function endAlarms(tx: Tx, ended: readonly AlarmKey[], at: Date): Promise<void> {
  if (ended.length === 0) return
  const { rows } = await sql<NamedAlarm>`
    update alarm set ended_at = ${at}, last_seen_at = ${at}, counting = alarm.acked_at is null
    from ${rowsAs('ended', keyColumns, ended)}
    where alarm.org_id = ended.org_id and alarm.type = ended.type and alarm.subject = ended.subject
      and alarm.counting and alarm.ended_at is null
    returning alarm.*, ${siteName}
  `.execute(tx)
  noteChanges(tx, 'alarm', rows)
  await insertAlarmEvents(tx, rows, at)
}

/** An alarm whose cause comes back later than this is a new one. */
export async function closeCounts(tx: Tx, before: Date): Promise<void> {
  await tx
    .updateTable('alarm')
    .set({ counting: false })
    .where('counting', '=', true)
    .where('lastSeenAt', '<', before)
    .where((eb) => eb.or([eb('endedAt', 'is not', null), eb('lasts', '=', false)]))
    .execute()
}

/** @param wasKnown True if receivers know the alarms, although neither their counts nor their ends show it. */
function insertAlarmEvents(tx: Tx, changed: readonly NamedAlarm[], at: Date, wasKnown = false): Promise<void> {
  const events = changed.map((alarm) => ({
    orgId: alarm.orgId,
    siteId: alarm.siteId,
    topic: 'alarms' as const,
    event: eventOf(alarm, wasKnown),
  }))
  return insertOutbox(tx, events, at)
}

function eventOf(alarm: NamedAlarm, wasKnown: boolean): TopicEvents['alarms'] {
  const { group, severity } = alarms[alarm.type]
  return {
    id: alarm.id,
    org_id: alarm.orgId,
    ...(alarm.siteId !== null && { site_id: alarm.siteId }),
    ...(alarm.siteName !== null && { site_name: alarm.siteName }),
    for_site: alarm.siteId !== null,
    type: alarm.type,
    group,
    severity,
    timestamp: epochS(alarm.createdAt),
    last_seen: epochS(alarm.lastSeenAt),
    count: alarm.count,
    update: wasKnown || alarm.count > 1 || alarm.endedAt !== null,
    ...(alarm.endedAt !== null && { resolved_time: Math.floor(epochS(alarm.endedAt)) }),
    text: alarm.text,
    ...alarm.details,
  }
}

/** The alarms of a scope to change: some by their ids, or all of them. */
export type ChosenAlarms = readonly string[] | 'all'

/** Returns the first of the ids that the scope has no alarm for. */
export async function findUnknownAlarm(tx: Tx, scope: SitesScope, ids: readonly string[]): Promise<string | undefined> {
  const rows = await tx.selectFrom('alarm').select('id').where(inScope(scope, ids)).execute()
  const known = new Set(rows.map(({ id }) => id))
  return ids.find((id) => !known.has(id.toLowerCase()))
}

export interface Acknowledgment {
  readonly chosen: ChosenAlarms
  readonly note: string | null
  readonly at: Date
}

interface ChangedAlarm extends AlarmId {
  /** True if the change ended the alarm, or opened it again. */
  readonly turned: boolean
}

/**
 * Acknowledges alarms. It ends those that don't end with their cause. An alarm that is already acknowledged is left unchanged,
 * unless the caller names it and gives a note.
 * @returns The number of acknowledged alarms.
 */
export async function ackAlarms(tx: Tx, scope: SitesScope, { chosen, note, at }: Acknowledgment): Promise<number> {
  const { adminId, name } = scope.actor
  const again = chosen !== 'all' && note !== null
  const { rows } = await sql<ChangedAlarm>`
    with chosen as materialized (
      select org_id, id, not lasts and ended_at is null as turned from alarm
      where ${inScope(scope, chosen)} and (acked_at is null or ${again})
      order by id for update
    )
    update alarm set acked_at = ${at}, acked_by = ${adminId}, acked_by_name = ${name}, note = ${note},
      ended_at = case when chosen.turned then ${at} else alarm.ended_at end,
      counting = alarm.counting and alarm.lasts and alarm.ended_at is null
    from chosen where alarm.org_id = chosen.org_id and alarm.id = chosen.id
    returning alarm.org_id, alarm.id, chosen.turned
  `.execute(tx)
  await appendTurned(tx, rows, at)
  return rows.length
}

/**
 * Withdraws acknowledgments. It opens the alarms again that they ended, and locks alarms in the order of ackAlarms().
 * @returns The number of changed alarms.
 */
export async function unackAlarms(tx: Tx, scope: SitesScope, chosen: ChosenAlarms, at: Date): Promise<number> {
  const { rows } = await sql<ChangedAlarm>`
    with chosen as materialized (
      select org_id, id from alarm where ${inScope(scope, chosen)} and acked_at is not null order by id for update
    )
    update alarm set acked_at = null, acked_by = null, acked_by_name = null, note = null,
      ended_at = case when alarm.lasts then alarm.ended_at end
    from chosen where alarm.org_id = chosen.org_id and alarm.id = chosen.id
    returning alarm.org_id, alarm.id, not alarm.lasts as turned
  `.execute(tx)
  await appendTurned(tx, rows, at)
  return rows.length
}

/** Appends the events of alarms that a person has ended or opened again, a portion of their rows at a time. */
async function appendTurned(tx: Tx, rows: readonly ChangedAlarm[], at: Date): Promise<void> {
  noteChanges(tx, 'alarm', rows)
  const turned = rows.filter((row) => row.turned)
  for (const part of splitRows(turned, partLimits.count)) {
    const changed = await tx
      .selectFrom('alarm')
      .selectAll()
      .select(siteName)
      .where('orgId', '=', anyOf([...new Set(part.map(({ orgId }) => orgId))]))
      .where('id', '=', anyOf(part.map(({ id }) => id)))
      .execute()
    await insertAlarmEvents(tx, changed, at, true)
  }
}

function inScope(scope: SitesScope, chosen: ChosenAlarms): RawBuilder<boolean> {
  const isChosen = chosen === 'all' ? sql`true` : sql`id = ${anyOf(chosen)}`
  return sql<boolean>`org_id = ${scope.orgId} and ${inSites(scope, sql`site_id`)} and ${isChosen}`
}
