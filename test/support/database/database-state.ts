import { sql } from 'kysely'
import type { Db } from '../../../src/platform/database/db.ts'

/**
 * Returns a digest of all rows of each table: equal states prove that nothing was written in between.
 * @param names The only tables that count; missing: all of them.
 */
export async function databaseState(db: Db, names?: readonly string[]): Promise<Record<string, string>> {
  if (names !== undefined) return digest(db, names)
  const tables = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`.execute(db)
  return digest(
    db,
    tables.rows.map(({ name }) => name),
  )
}

async function digest(db: Db, tables: readonly string[]): Promise<Record<string, string>> {
  const digests = tables.map(
    (name) => sql`
      select ${sql.lit(name)} as name, count(*) || ':' || coalesce(sum(hashtextextended(row::text, 0)), 0) as digest
      from ${sql.raw(name)} row`,
  )
  // One statement sees a snapshot of all tables, and needs one round trip.
  const { rows } = await sql<{ name: string; digest: string }>`${sql.join(digests, sql` union all `)}`.execute(db)
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]))
}
