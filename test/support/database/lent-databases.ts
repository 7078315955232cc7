import type pg from 'pg'
import { beforeEach, inject } from 'vitest'
import { type ContextPools, openContextPools } from '../../../src/app/open-context.ts'
import { countPool } from '../../../src/platform/database/connections/end-pool.ts'
import type { Logger } from '../../../src/platform/log.ts'
import { createTestLog } from '../servers/test-log.ts'
import { type TestDatabase, createTestDatabase, openAdministrator } from './database.ts'
import { STATISTICS, rowsOf } from './template-contents.ts'

/** An empty database with open connections, for one context at a time. */
export interface LentDatabase {
  readonly pools: ContextPools
  /** The log of the pools. */
  readonly log: Logger
  /** `drop` returns it, after the pools have been closed. */
  readonly database: TestDatabase
}

/** A database that the tests of a file use in turn. */
interface Kept {
  readonly database: TestDatabase
  readonly pools: ContextPools
  readonly log: Logger
  /** The connection that empties it. */
  readonly admin: pg.Pool
}

/**
 * The databases that no test of this file uses at the moment. PostgreSQL needs a third of the processor time of a short test for
 * a new database and for new connections, each of which reads the catalog and plans all statements.
 */
const idle: Kept[] = []

/** Tables that have grown beyond this size would change plans, because their deleted rows still take their space. */
const MAX_BYTES = 1024 ** 2

/** Lends a migrated database without rows: one that an earlier test of the file has returned, or else a new one. */
export async function lendDatabase(): Promise<LentDatabase> {
  for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
    if (await empty(kept)) return lend(kept)
    await end(kept)
  }
  return lend(await open())
}

/**
 * Gives each test of a file a new database. Tests of where PostgreSQL stores rows, or of partitions, call this before anything
 * else: the rows that former tests have deleted still take their space, and partitions stay.
 */
export function useNewDatabases(): void {
  beforeEach(dropReturned)
}

/** Drops the databases that tests have returned. */
export async function dropReturned(): Promise<void> {
  await Promise.all(idle.splice(0).map(end))
}

async function open(): Promise<Kept> {
  const database = await createTestDatabase()
  const log = createTestLog()
  const pools = openContextPools({ connection: { ...database.connection, max: 8 }, log })
  const { admin } = inject('databaseServer')
  return { database, pools, log, admin: openAdministrator({ ...admin, database: database.connection.database }) }
}

async function end({ database, pools, admin }: Kept): Promise<void> {
  await pools.close()
  await admin.end()
  await database.drop()
}

function lend(kept: Kept): LentDatabase {
  const { database, pools, log, admin } = kept
  let isReusable = inject('databaseServer').contents !== null
  let isReturned = false
  return {
    log,
    pools: {
      ...pools,
      async close(withinMs) {
        isReusable &&= pools.all.every((pool) => countPool(pool).inUse === 0)
        if (!isReusable) await pools.close(withinMs)
      },
    },
    database: {
      connection: database.connection,
      async drop() {
        // Two tests would get it.
        if (isReturned) throw new Error('The database has been returned already')
        isReturned = true
        if (isReusable) idle.push(kept)
        else {
          await admin.end()
          await database.drop()
        }
      },
    },
  }
}

interface State {
  readonly differs: boolean
  /** The tables that have rows, or had some. */
  readonly tables: readonly string[]
  readonly bytes: number
}

/** Deletes all rows but those of the template. Returns false if the database would still differ from a new one. */
async function empty({ pools, admin }: Kept): Promise<boolean> {
  const { contents } = inject('databaseServer')
  if (contents === null) return false
  const { seeded, rows, statistics } = contents
  const sessions = pools.all.reduce((sum, { totalCount }) => sum + totalCount, 0)
  const found = await admin.query<State>(stateOf(seeded), [seeded, rows, statistics, sessions])
  const [state] = found.rows
  if (state === undefined || state.differs || state.bytes > MAX_BYTES) return false
  const deletes = state.tables.map((name) => `delete from ${name};`).join(' ')
  // In this role, no triggers run: neither those of foreign keys nor those that count rows.
  await admin.query(`begin; set local session_replication_role = replica; ${deletes} ${RESTART} commit`)
  // A session that a test has ended may still be among the idle ones.
  return resetSessions(pools).then(
    () => true,
    () => false,
  )
}

/** Takes back what the sessions have set, and what they listen to. */
async function resetSessions({ all }: ContextPools): Promise<void> {
  await Promise.all(
    all.flatMap((pool) => Array.from({ length: pool.idleCount }, () => pool.query('reset all; unlisten *'))),
  )
}

/** Sequences begin again, so that no test sees how many rows another one has inserted. */
const RESTART = `
  select setval(seqrelid, seqstart, false) from pg_sequence where pg_sequence_last_value(seqrelid) is not null;`

/**
 * Rows can be deleted. A database differs if a test has changed anything else: rows of the template, the schema, statistics,
 * settings or large objects; or if a session does something, holds a lock or is unknown.
 */
const stateOf = (seeded: readonly string[]): string => `
  with used as (
    select oid::regclass::text as name, pg_relation_size(oid) as bytes from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> all ($1) and pg_relation_size(oid) > 0
  ), this as (select oid from pg_database where datname = current_database())
  select
    (${rowsOf(seeded)}) <> $2
    or (${STATISTICS}) <> $3
    or exists (select from signalbox_test.change)
    or exists (select from pg_largeobject_metadata)
    or exists (select from pg_db_role_setting where setdatabase = (select oid from this))
    or exists (select from pg_locks where locktype = 'advisory' and database = (select oid from this))
    or (select count(*) > $4 or bool_or(state <> 'idle') from pg_stat_activity
      where datid = (select oid from this) and backend_type = 'client backend' and pid <> pg_backend_pid()) as differs,
    array(select name from used) as tables,
    (select coalesce(sum(bytes), 0)::integer from used) as bytes`
