import pg from 'pg'

/** What the template of the tests' databases contains although no test has used it. */
export interface TemplateContents {
  /** The tables with rows. */
  readonly seeded: readonly string[]
  /** A hash of the rows. */
  readonly rows: string
  /** The tables of which PostgreSQL knows the number of rows. */
  readonly statistics: string
}

/** Reads the rows of the tables, as a hash. */
export const rowsOf = (tables: readonly string[]): string => `
  select md5(concat_ws('|', ${tables.map(rowsOfTable).join(', ')}))`

const rowsOfTable = (table: string): string =>
  `(select string_agg(each::text, ',' order by each::text) from ${table} each)`

/** Reads what PostgreSQL has noted when it analyzed or vacuumed tables. */
export const STATISTICS = `
  select coalesce(string_agg(relname || ' ' || reltuples, ',' order by relname), '') from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples >= 0`

/**
 * Makes the copies of the template note changes of their schema, so that only a database that differs in nothing but rows is
 * used again.
 * @returns null if the administrator is not allowed to do that.
 */
export async function prepareTemplate(template: pg.ClientConfig): Promise<TemplateContents | null> {
  const client = new pg.Client(template)
  await client.connect()
  try {
    const may = await client.query<{ rolsuper: boolean }>('select rolsuper from pg_roles where rolname = current_user')
    if (may.rows[0]?.rolsuper !== true) return null
    await client.query(NOTE_CHANGES)
    const seeded = (await client.query<{ name: string }>(SEEDED)).rows.map(({ name }) => name)
    const { rows } = await client.query<Pick<TemplateContents, 'rows' | 'statistics'>>(
      `select (${rowsOf(seeded)}) as rows, (${STATISTICS}) as statistics`,
    )
    const [contents] = rows
    return contents === undefined ? null : { seeded, ...contents }
  } finally {
    await client.end()
  }
}

/**
 * The function has the rights of the administrator, because the application's role changes the schema. Partitions of days are
 * no change: workers create those of the days of their clock at their start, and find them if another test had the same clock.
 */
const NOTE_CHANGES = `
  create schema signalbox_test;
  create table signalbox_test.change (statement text);
  create function signalbox_test.note() returns event_trigger language plpgsql security definer as $$
    begin
      if current_query() !~ '(^create table "[a-z_]+_\\d{8}" \\(like |^alter table "[a-z_]+" attach partition "[a-z_]+_\\d{8}" for values from [^;]*$)' then
        insert into signalbox_test.change values (current_query());
      end if;
    end $$;
  create event trigger note on ddl_command_end execute function signalbox_test.note()`

const SEEDED = `
  select relname as name from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0`
