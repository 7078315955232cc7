import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'

/** A lock that waits would block deliveries behind it, so the chore fails instead and is repeated. */
const LOCK_WITHIN = sql`set local lock_timeout = '3s'`
/** An arbitrary fixed number, so that servers that start together prepare one after the other. */
const LOCK = 6620174

async function lockPartitions(tx: Tx): Promise<void> {
  await LOCK_WITHIN.execute(tx)
  await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(tx)
}

/** Returns a name like `webhook_delivery_20261120` for the UTC day that starts at `day`. */
function nameOf(table: string, day: Date): string {
  return `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
}

/**
 * Creates the partition of the UTC day that starts at `day` unless it exists, and moves that day's rows from
 * the default partition into it.
 */
export async function createPartition(tx: Tx, table: string, day: Date): Promise<void> {
  await lockPartitions(tx)
  const name = nameOf(table, day)
  const found = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(tx)
  if (found.rows[0]?.found === true) return
  const from = sql.lit(day.toISOString())
  const to = sql.lit(new Date(day.getTime() + 24 * 3600e3).toISOString())
  const parent = sql.table(table)
  const caughtIn = sql.table(`${table}_default`)
  const partition = sql.table(name)
  await sql`create table ${partition} (like ${parent} including defaults including constraints)`.execute(tx)
  await sql`
    with moved as (delete from ${caughtIn} where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${partition} select * from moved
  `.execute(tx)
  await sql`alter table ${parent} attach partition ${partition} for values from (${from}) to (${to})`.execute(tx)
}

/** Drops the partitions of days before `day` and deletes rows of those days from the default partition. */
export async function dropPartitionsBefore(tx: Tx, table: string, day: Date): Promise<void> {
  await lockPartitions(tx)
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table}::regclass and c.relname ~ '_[0-9]{8}$' and c.relname < ${nameOf(table, day)}
    order by c.relname
  `.execute(tx)
  for (const { name } of rows) await sql`drop table ${sql.table(name)}`.execute(tx)
  await sql`delete from ${sql.table(`${table}_default`)} where created_at < ${day}`.execute(tx)
}
