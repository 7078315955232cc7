import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../../../src/platform/database/db.ts'
import type { TestConnection } from './database.ts'

interface Row {
  readonly name: string
  readonly digest: string
}

/**
 * Returns a digest of all rows of each table: equal states prove that nothing was written in between.
 * @param names The only tables that count; missing: all of them.
 */
export async function databaseState(db: Db, names?: readonly string[]): Promise<Record<string, string>> {
  const { rows } = await digest(names ?? (await listTables(db))).execute(db)
  return stateOf(rows)
}

/** Reads the state of all tables again and again. */
export interface StateReader {
  readonly read: () => Promise<Record<string, string>>
  readonly close: () => Promise<void>
}

/**
 * Opens a connection that reads what databaseState() returns. It plans the statement only once, which takes longer than to
 * run it.
 */
export async function openStateReader(db: Db, connection: TestConnection): Promise<StateReader> {
  const { sql: text } = digest(await listTables(db)).compile(db)
  const client = new pg.Client(connection)
  await client.connect()
  return {
    read: async () => stateOf((await client.query<Row>({ name: 'state', text })).rows),
    close: () => client.end(),
  }
}

async function listTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`.execute(db)
  return rows.map(({ name }) => name)
}

/** Returns one statement: it sees a snapshot of all tables, and needs one round trip. */
function digest(tables: readonly string[]): RawBuilder<Row> {
  const digests = tables.map(
    (name) => sql`
      select ${sql.lit(name)} as name, count(*) || ':' || coalesce(sum(hashtextextended(row::text, 0)), 0) as digest
      from ${sql.raw(name)} row`,
  )
  return sql`${sql.join(digests, sql` union all `)}`
}

function stateOf(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(rows.map((row) => [row.name, row.digest]))
}
