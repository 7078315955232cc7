import { type RawBuilder, sql } from 'kysely'

/** The members that an event lacks if they are null. */
const optional = ['site_id', 'site_name', 'device_id', 'before', 'after']

/**
 * The `audits` event of an audit record, as jsonb. It is composed here alone, so the event has the same text whenever it is
 * read.
 * @param row The alias of a row with the columns of `audit_log`.
 */
export function auditEvent(row: string): RawBuilder<unknown> {
  const of = (name: string): RawBuilder<unknown> => sql.ref(`${row}.${name}`)
  const member = (name: string): RawBuilder<unknown> => sql`${sql.lit(name)}, ${of(name)}`
  const nameIfNull = (name: string): RawBuilder<unknown> => sql`case when ${of(name)} is null then ${sql.lit(name)} end`
  // Receivers decode a text as src_ip, never null.
  return sql`jsonb_build_object('id', ${of('id')}, 'org_id', ${of('org_id')},
      'timestamp', trim_scale(extract(epoch from ${of('created_at')})), 'admin_id', ${of('admin_id')},
      'admin_name', ${of('admin_name')}, 'message', ${of('message')}, 'src_ip', coalesce(${of('src_ip')}, ''),
      'user_agent', ${of('user_agent')}, ${sql.join(optional.map(member))})
    - array[${sql.join(optional.map(nameIfNull))}]`
}

/** The text of the event of a row of the outbox, which has it itself or refers to an audit record. */
export function eventText(row: string): RawBuilder<string> {
  const of = (name: string): RawBuilder<unknown> => sql.ref(`${row}.${name}`)
  return sql<string>`coalesce(${of('event')}::text, (select (${auditEvent('a')})::text from audit_log a
    where a.org_id = ${of('org_id')} and a.created_at = ${of('created_at')} and a.id = ${of('id')}))`
}
