import { type RawBuilder, sql } from 'kysely'
import { type Transactional, type Tx, executeAlone } from '../platform/database/db.ts'
import { lastStatement } from '../platform/database/last-statement.ts'
import { type RowOf, anyRowsAs, columnsOf, namesOf, valuesOf } from '../platform/database/rows.ts'
import { type ParamOf, compileValues } from '../platform/database/statement.ts'
import { type QueuedEvent, wakeRouter } from './store.ts'
import { auditEvent } from './store-audit-event.ts'

/** The columns of a record that say who has changed what; those of accounts have them, too. */
export const changeColumns = {
  id: 'uuid',
  adminId: 'uuid',
  message: 'text',
  srcIp: 'text',
  userAgent: 'text',
  before: 'jsonb',
  after: 'jsonb',
  createdAt: 'timestamptz',
} as const

const auditColumns = columnsOf('auditLog', {
  orgId: 'uuid',
  siteId: 'uuid',
  deviceId: 'uuid',
  adminName: 'text',
  ...changeColumns,
  siteName: 'text',
})

export type NewAuditRecord = RowOf<typeof auditColumns>

interface AuditRow {
  readonly record: NewAuditRecord
}

interface AuditRows {
  readonly records: readonly NewAuditRecord[]
}

/** reduceChange() bounds the bytes of a record, so this many are far from the limit of a statement. */
const MAX_AUDITS = 20

/**
 * Inserts records, and queues the event of each that a webhook subscribes to. The events are composed for these only. A
 * record that lacks the name of its site gets it here, not by a query of its own.
 * @param isOnly Whether an event that one webhook receives is the only event of the statement; see heardAudits().
 */
function insertAudited(records: RawBuilder<unknown>, isOnly: RawBuilder<unknown>): RawBuilder<QueuedEvent> {
  const { siteName: _, ...others } = auditColumns.types
  const columns = sql.join(Object.keys(others).map((name) => sql.ref(`new.${name}`)))
  const siteName = sql`case when new.site_id is null or new.site_name is not null then new.site_name
    else (select name from site s where s.org_id = new.org_id and s.id = new.site_id) end`
  return sql<QueuedEvent>`
    with ${heardAudits(sql`select ${columns}, ${siteName} from ${records}`, isOnly)}
    select id, org_id, 'audits' as topic, webhook_id, ${sentText} as json from heard h`
}

/**
 * Parts of a `with` clause: `record` inserts the rows of a query, and `heard` has their events, which are queued.
 * @param isOnly Whether an event that one webhook receives is the only one. The process sends no other before it is routed.
 */
function heardAudits(rows: RawBuilder<unknown>, isOnly: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`record as (
      insert into audit_log (${namesOf(auditColumns)}) ${rows} returning *
    ), heard as materialized (
      select r.id, r.org_id, r.site_id, r.created_at, (${auditEvent('r')})::text as json,
        case when cardinality(webhook_ids) = 1 and ${isOnly} then webhook_ids[1] end as webhook_id
      from record r cross join lateral (
        select array_agg(s.webhook_id) as webhook_ids from event_subscriber s
        where s.org_id = r.org_id and 'audits' = any(s.topics) and (s.site_id is null or s.site_id = r.site_id)
      ) subscribed where webhook_ids is not null
    ), queued as (
      insert into webhook_outbox (id, org_id, site_id, topic, created_at, audit_bytes, webhook_id)
      select id, org_id, site_id, 'audits', created_at, octet_length(json), webhook_id from heard
    )`
}

/** The text of an event of `heard` that the process sends before it is routed. */
const sentText = sql`case when h.webhook_id is not null then h.json end`

const compileAudits = compileValues<AuditRows, QueuedEvent>((param) =>
  insertAudited(anyRowsAs('new', auditColumns, param('records')), sql`count(*) over () = 1`),
)

/** Does the same for one record, which is all that nearly every change has: arrays of one value each take longer. */
const compileAudit = compileValues<AuditRow, QueuedEvent>((param) =>
  insertAudited(
    sql`(values (${valuesOf(auditColumns, param('record'))})) as new (${namesOf(auditColumns)})`,
    sql`true`,
  ),
)

const insertLast = lastStatement<NewAuditRecord, AuditRows, QueuedEvent>({
  compile(tx, { records }) {
    const [record] = records
    return records.length === 1 && record !== undefined ? compileAudit(tx, { record }) : compileAudits(tx, { records })
  },
  valuesOf: (records) => ({ records }),
  maxItems: MAX_AUDITS,
  onRows: wakeRouter,
})

/**
 * Inserts the record of a change at the end of the transaction. If a webhook receives its event, a row of the outbox refers to
 * the record, and the router wakes once `tx` has committed.
 */
export async function insertAudit(tx: Tx, record: NewAuditRecord): Promise<void> {
  await insertLast(tx, record)
}

interface EventColumns {
  readonly eventId: string | null
  readonly eventWebhookId: string | null
  readonly eventJson: string | null
}

/**
 * Declares a change of one row that is sent with its audit record as one statement, which is a transaction of its own. If the
 * change finds no row, nothing is recorded.
 * @param change An `update` that returns the row, at most one. The record of a site's change has the name of the site.
 * @returns A function that makes the change, and returns the row, or undefined if there was none.
 */
export function auditedChange<V extends AuditRow, R extends object>(
  change: (param: ParamOf<V>) => RawBuilder<R>,
): (ctx: Transactional, values: V) => Promise<R | undefined> {
  const compile = compileValues<V, R & EventColumns>((param) => {
    const rows = sql`select ${valuesOf(auditColumns, param('record'))} from changed`
    return sql<R & EventColumns>`
      with changed as (${change(param)}), ${heardAudits(rows, sql`true`)}
      select changed.*, h.id as event_id, h.webhook_id as event_webhook_id, ${sentText} as event_json
      from changed left join heard h on true`
  })
  return async (ctx, values) => {
    const [row] = await executeAlone(ctx, compile(ctx.db, values))
    if (row !== undefined && row.eventId !== null) {
      const { eventId: id, eventWebhookId: webhookId, eventJson: json } = row
      const event: QueuedEvent = { id, orgId: values.record.orgId, topic: 'audits', webhookId, json }
      ctx.wakes.wake('outbox', [id], [event])
    }
    return row
  }
}
