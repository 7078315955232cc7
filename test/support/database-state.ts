import { sql } from 'kysely'
import type { Db } from '../../src/platform/db.ts'

/** Returns a digest of all rows of each table: equal states prove that nothing was written in between. */
export async function databaseState(db: Db): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`.execute(db)
  const digests = tables.rows.map(
    ({ name }) => sql`
      select ${sql.lit(name)} as name, count(*) || ':' || coalesce(sum(hashtextextended(row::text, 0)), 0) as digest
      from ${sql.raw(name)} row`,
  )
  // One statement sees a snapshot of all tables, and needs one round trip.
  const { rows } = await sql<{ name: string; digest: string }>`${sql.join(digests, sql` union all `)}`.execute(db)
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]))
}
