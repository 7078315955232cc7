import type pg from 'pg'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import type { PostgresConnection } from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { openBarePool } from '../bare-pool.ts'
import { flushStatistics } from '../database-statistics.ts'
import { cpuSecondsOfDescendants } from '../process-usage.ts'

/** How many rows a statement writes: about as many as one of a round of the engine. */
const BATCH = 1000
/** Two have the processors while two wait for the disk. */
const CONNECTIONS = 4

interface Writes {
  readonly inserted: number
  readonly updated: number
}

/** How many rows of each table have been written. */
export type TableWrites = ReadonlyMap<string, Writes>

/** Returns what has been written so far. @param pools Connections of this process that may have written. */
export async function readTableWrites(pool: pg.Pool, pools: readonly pg.Pool[] = [pool]): Promise<TableWrites> {
  await flushStatistics(pools)
  const { rows } = await pool.query<Writes & { readonly table: string }>(`
    select quote_ident(relname) as table, n_tup_ins::int as inserted, n_tup_upd::int as updated
    from pg_stat_user_tables where schemaname = 'public'`)
  return new Map(rows.map(({ table, inserted, updated }) => [table, { inserted, updated }]))
}

/**
 * Writes the rows that an upgrade has written once more, as the reference for the engine: to copies of its tables, with
 * the same columns and indexes but without triggers and foreign keys, by statements of a thousand rows with durable
 * commits, of which four run at a time. Nothing is decided, sent or read but the rows themselves, and an update changes
 * no value, so that no index gets another entry. Rows that the upgrade has deleted again are left out, and so are tables
 * with fewer writes than a tenth of the devices.
 */
export async function writeBareRows(
  connection: PostgresConnection,
  { before, devices }: { readonly before: TableWrites; readonly devices: number },
): Promise<{ readonly seconds: number; readonly rows: number; readonly databaseCpuMs: number }> {
  const database = openBarePool(connection)
  try {
    await database.query('create schema bare')
    const connections = Array.from({ length: CONNECTIONS }, (): string[] => [])
    for (const [table, after] of await readTableWrites(database)) {
      const inserted = after.inserted - (before.get(table)?.inserted ?? 0)
      const updated = after.updated - (before.get(table)?.updated ?? 0)
      if (inserted + updated >= devices / 10)
        for (const [index, statement] of await prepareTable(database, table, { inserted, updated }))
          connections[index % CONNECTIONS]?.push(statement)
    }
    const cpuBefore = await cpuSecondsOfDescendants(process.pid)
    const start = performance.now()
    const counts = await Promise.all(connections.map((statements) => execute(database, statements)))
    const seconds = (performance.now() - start) / 1000
    const databaseCpuMs = ((await cpuSecondsOfDescendants(process.pid)) - cpuBefore) * 1000
    return { seconds, rows: counts.reduce((sum, count) => sum + count, 0), databaseCpuMs }
  } finally {
    await endPool(database)
  }
}

/** Executes statements one after the other, and returns how many rows they have written. */
async function execute(database: pg.Pool, statements: readonly string[]): Promise<number> {
  let rows = 0
  for (const statement of statements) rows += (await database.query(statement)).rowCount ?? 0
  return rows
}

/**
 * Makes a copy of a table as it was before the writes, and returns the statements that repeat them, with the numbers of
 * their batches. Statements with the same number write the same rows, so they would wait for each other on several
 * connections.
 */
async function prepareTable(
  database: pg.Pool,
  table: string,
  { inserted, updated }: Writes,
): Promise<readonly (readonly [number, string])[]> {
  const { columns, keys, other, settings } = await readTable(database, table)
  const [copy, source] = [`bare.${table}`, `bare.${table}_source`]
  await database.query(`
    create table ${copy} (like public.${table} including all) with (${settings});
    create table ${source} as select *, row_number() over (order by ctid)::int as bare_number from public.${table};
    create index on ${source} (bare_number)`)
  const { rows } = await database.query<{ count: number }>(`select count(*)::int as count from ${source}`)
  const present = rows[0]?.count ?? 0
  const first = Math.max(present - inserted, 0)
  const insert = (range: string): string =>
    `insert into ${copy} (${columns}) overriding system value select ${columns} from ${source} where ${range}`
  await database.query(`${insert(rangeOf(0, first))}; analyze ${copy}, ${source}`)
  const update = (range: string): string => `
    update ${copy} as copy set ${other} = source.${other} from ${source} as source
    where (${keys.map((key) => `copy.${key}`).join(', ')}) = (${keys.map((key) => `source.${key}`).join(', ')}) and ${range}`
  // Each pass updates every row once; the last one may end before.
  const passes = Array.from({ length: present > 0 ? Math.ceil(updated / present) : 0 }, (_, pass) =>
    rangesOf(0, Math.min(present, updated - pass * present)),
  )
  const inserts = rangesOf(first, present).map(insert)
  return [inserts, ...passes.map((ranges) => ranges.map(update))].flatMap((statements) =>
    Array.from(statements.entries()),
  )
}

function rangesOf(first: number, end: number): string[] {
  const count = Math.ceil((end - first) / BATCH)
  return Array.from({ length: count }, (_, index) =>
    rangeOf(first + index * BATCH, Math.min(first + (index + 1) * BATCH, end)),
  )
}

function rangeOf(first: number, end: number): string {
  return `bare_number > ${first} and bare_number <= ${end}`
}

/**
 * Returns the columns that statements set, those of the primary key, another one, and the settings of the storage, which
 * no copy has by itself.
 */
async function readTable(
  database: pg.Pool,
  table: string,
): Promise<{
  readonly columns: string
  readonly keys: readonly string[]
  readonly other: string
  readonly settings: string
}> {
  const { rows } = await database.query<{ name: string; inKey: boolean; settings: string | null }>(
    `select quote_ident(attname) as name, array_to_string(reloptions, ', ') as settings,
       exists (select from pg_index where indrelid = attrelid and indisprimary and attnum = any(indkey)) as "inKey"
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [`public.${table}`],
  )
  return {
    columns: rows.map(({ name }) => name).join(', '),
    keys: rows.filter(({ inKey }) => inKey).map(({ name }) => name),
    other: rows.find(({ inKey }) => !inKey)?.name ?? '',
    settings: rows[0]?.settings ?? 'fillfactor = 100',
  }
}
