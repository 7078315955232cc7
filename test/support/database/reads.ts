import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Reader } from '../../../src/platform/database/db.ts'

/** What PostgreSQL counts: rows and entries of indexes that were read, or pages. */
type Unit = 'tuples_returned' | 'blocks_fetched'

interface Reads {
  readonly tables: readonly string[]
  readonly unit: Unit
}

/** Reports what the connection has read at the end of its transaction. Otherwise it may do so during what is measured. */
export async function reportReads(reader: Reader): Promise<void> {
  await sql`select pg_stat_force_next_flush()`.execute(reader)
}

/** Counts what any connection has read of the tables and their indexes, and has reported. */
export async function countReads(reader: Reader, { tables, unit }: Reads): Promise<number> {
  const { rows } = await sql<{ reads: number }>`
    with read as (select unnest(${tables}::text[])::regclass as id)
    select sum(${sql.raw(`pg_stat_get_${unit}`)}(id))::int as reads from (
      select id from read union all select indexrelid from pg_index where indrelid in (select id from read)) part
  `.execute(reader)
  return rows[0]?.reads ?? NaN
}

/** Counts what the work reads of the tables and their indexes, on any connection. */
export async function readsOf(reader: Reader, reads: Reads, work: () => Promise<void>): Promise<number> {
  // Connections report what they have read a second later.
  await delay(1500)
  const before = await countReads(reader, reads)
  await work()
  await delay(1500)
  return (await countReads(reader, reads)) - before
}
