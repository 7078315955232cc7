import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { OrgScope, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { alarms } from '../../events/alarms/alarm-types.ts'
import type { AlarmTable } from '../../events/tables.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import type { Counts, Sort, TimeRange } from '../../http/lists/search.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { type Column, type Columns, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { countsOf, pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { alarmCounts, alarmSorts, orgAlarmFilters } from './filters.ts'

type Filters = typeof orgAlarmFilters

/** The alarms of a time range that satisfy all conditions. */
export interface AlarmFilter extends TimeRange {
  readonly conditions: Conditions<Filters>
}

type AlarmSort = (typeof alarmSorts)[number]
type AlarmField = (typeof alarmCounts)[number]

export type FoundAlarm = Selectable<AlarmTable>

/** A member of the declaration of each alarm's type. */
function declared(member: 'group' | 'severity'): Column {
  const byType = Object.entries(alarms).map(([type, alarm]) => sql`when ${type} then ${alarm[member]}`)
  return column(sql`case alarm.type ${sql.join(byType, sql` `)} end`)
}

function detail(name: string): Column {
  return column(sql`alarm.details ->> ${sql.lit(name)}`)
}

const fields = {
  id: column(sql`alarm.id`),
  org_id: column(sql`alarm.org_id`),
  site_id: column(sql`alarm.site_id`),
  type: column(sql`alarm.type`),
  group: declared('group'),
  severity: declared('severity'),
  status: column(sql`case when alarm.ended_at is null then 'open' else 'resolved' end`),
  timestamp: column(sql`alarm.created_at`),
  last_seen: column(sql`alarm.last_seen_at`),
  resolved_time: column(sql`alarm.ended_at`),
  count: column(sql`alarm.count`),
  text: column(sql`alarm.text`),
  acked: column(sql`(alarm.acked_at is not null)`),
  acked_time: column(sql`alarm.acked_at`),
  ack_admin_id: column(sql`alarm.acked_by`),
  ack_admin_name: column(sql`alarm.acked_by_name`),
  note: column(sql`alarm.note`),
  aps: detail('aps'),
  switches: detail('switches'),
  gateways: detail('gateways'),
  hostnames: detail('hostnames'),
  upgrade_id: detail('upgrade_id'),
  webhook_id: detail('webhook_id'),
} satisfies Columns<Filters> & Record<AlarmSort | AlarmField, Column>

export interface AlarmSearch extends AlarmFilter {
  readonly sort: Sort<AlarmSort>
}

export function listAlarmsById(reader: Reader, scope: OrgScope, ids: readonly string[]): Promise<FoundAlarm[]> {
  return reader.selectFrom('alarm').selectAll().where('orgId', '=', scope.orgId).where('id', '=', anyOf(ids)).execute()
}

/** Lists alarms by the field of the sort, and by id among equal ones. */
export function searchAlarms(
  reader: Reader,
  scope: SitesScope,
  { sort, page, ...filter }: AlarmSearch & { readonly page: Page },
): Promise<Paged<FoundAlarm>> {
  const hits = sql`select alarm.*, ${fields[sort.by].value} as sorted from alarm where ${conditions(scope, filter)}`
  const order = sort.by === 'timestamp' ? ['created_at', 'id'] : ['sorted', 'id']
  return pageOf<FoundAlarm>(reader, { hits, order, direction: sort.direction, sizes: smallRows }, page)
}

export interface AlarmCountQuery extends AlarmFilter, Page {
  readonly distinct: AlarmField
}

export function countAlarms(
  reader: Reader,
  scope: SitesScope,
  { distinct, limit, page, ...filter }: AlarmCountQuery,
): Promise<Counts> {
  const hits = sql`select ${fields[distinct].value} as value from alarm where ${conditions(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit, page })
}

/** An alarm belongs to a range that it began in, was last seen in, or during which it was open. */
function conditions(scope: SitesScope, { start, end, ...filter }: AlarmFilter): RawBuilder<unknown> {
  return sql.join(
    [
      sql`alarm.org_id = ${scope.orgId} and alarm.created_at <= ${end}`,
      sql`(alarm.last_seen_at >= ${start} or alarm.ended_at >= ${start} or alarm.ended_at is null)`,
      inSites(scope, sql`alarm.site_id`),
      ...conditionsOn<Filters>(fields, filter.conditions),
    ],
    sql` and `,
  )
}
