import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { type Tx, inTx } from './db.ts'

const DAY_MS = 24 * 3600e3
/** The number of days ahead for which partitions are created, so that the chore may fail for some days. */
const DAYS_AHEAD = 3

/**
 * Creates the partitions of today and the next days and drops those of expired days. Safe to repeat.
 * @param keptDays For each table, which must be partitioned by `created_at` and have a default partition, the number of
 *   full days before today to retain.
 */
export async function preparePartitions(ctx: Context, keptDays: Readonly<Record<string, number>>): Promise<void> {
  const todayMs = Math.floor(ctx.clock.now().getTime() / DAY_MS) * DAY_MS
  for (const [table, days] of Object.entries(keptDays)) {
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1)
      await inTx(ctx, (tx) => createPartition(tx, table, new Date(todayMs + ahead * DAY_MS)))
    await inTx(ctx, (tx) => dropPartitionsBefore(tx, table, new Date(todayMs - days * DAY_MS)))
  }
}

/** A lock of a table that waits would block writers behind it, so the chore fails instead and is repeated. */
const LOCK_WITHIN = sql`set local lock_timeout = '3s'`
/** An arbitrary fixed number, so that servers that start together prepare one after the other. */
const LOCK = 6620174

async function lockPartitions(tx: Tx): Promise<void> {
  // This lock blocks no writers, so servers on a busy machine may wait for each other for longer.
  await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(tx)
  await LOCK_WITHIN.execute(tx)
}

/** Returns a name like `webhook_delivery_20261120` for the UTC day that starts at `day`. */
function nameOf(table: string, day: Date): string {
  return `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
}

/**
 * Creates the partition of the UTC day that starts at `day` unless it exists, and moves that day's rows from
 * the default partition into it.
 */
async function createPartition(tx: Tx, table: string, day: Date): Promise<void> {
  await lockPartitions(tx)
  const name = nameOf(table, day)
  const found = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(tx)
  if (found.rows[0]?.found === true) return
  const from = sql.lit(day.toISOString())
  const to = sql.lit(new Date(day.getTime() + DAY_MS).toISOString())
  const parent = sql.table(table)
  const caughtIn = sql.table(`${table}_default`)
  const partition = sql.table(name)
  await sql`create table ${partition} (like ${parent} including defaults including constraints)`.execute(tx)
  const moveRows = sql`
    with moved as (delete from ${caughtIn} where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${partition} select * from moved
  `
  await moveRows.execute(tx)
  // The attachment fails if the default partition has a row of the day, such as one of a writer for which its lock waits.
  await sql`lock table ${caughtIn} in access exclusive mode`.execute(tx)
  await moveRows.execute(tx)
  await sql`alter table ${parent} attach partition ${partition} for values from (${from}) to (${to})`.execute(tx)
}

/** Drops the partitions of days before `day` and deletes rows of those days from the default partition. */
async function dropPartitionsBefore(tx: Tx, table: string, day: Date): Promise<void> {
  await lockPartitions(tx)
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table}::regclass and c.relname ~ '_[0-9]{8}$' and c.relname < ${nameOf(table, day)}
    order by c.relname
  `.execute(tx)
  for (const { name } of rows) await sql`drop table ${sql.table(name)}`.execute(tx)
  await sql`delete from ${sql.table(`${table}_default`)} where created_at < ${day}`.execute(tx)
}
