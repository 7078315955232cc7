import {
  type CompiledQuery,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  type SelectQueryBuilder,
  type Transaction,
  sql,
} from 'kysely'
import { Socket } from 'node:net'
import pg from 'pg'
import { notFound } from '../errors.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { Schema } from './schema.ts'
import { endCounting } from './changes.ts'
import { ColumnNames } from './column-names.ts'
import { sharedReads } from './shared-reads.ts'
import { collectLast, runLast } from './last-statement.ts'
import { decodeTimestamp } from './timestamp.ts'
import { preparingPool } from './prepared.ts'
import { createDocumentCodec } from '../sealing/document-codec.ts'
import type { Secrets } from '../secrets.ts'
import { type Wakes, endCollection, publishUncertainWakes, publishWakes, runCollectingWakes } from './wakes.ts'

// Documents come back with the digits with which they were stored.
pg.types.setTypeParser(pg.types.builtins.JSON, parseExactJson)
pg.types.setTypeParser(pg.types.builtins.JSONB, parseExactJson)
// The driver takes five regular expressions for each time.
const decodeAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ)
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text: string) => decodeTimestamp(text, decodeAnyTimestamp))

export type Db = Kysely<Schema>
export type Tx = Transaction<Schema>
/** Reads that need no lock take either; writes take `Tx`, so that they can't escape their transaction. */
export type Reader = Db | Tx

/** Right-hand side of `= any(...)`: unlike `in ()`, an empty list is valid SQL and matches no row. */
export function anyOf<T>(values: readonly T[]): RawBuilder<T> {
  return sql<T>`any(${values})`
}

/** Right-hand side of `<> all(...)`; an empty list excludes nothing. */
export function noneOf(values: readonly string[]): RawBuilder<unknown> {
  return sql`all(${values})`
}

/** Escapes the characters of a text that `like` takes for wildcards. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (special) => `\\${special}`)
}

/** Right-hand side of `ilike` for texts that contain `part`. */
export function containing(part: string): string {
  return `%${escapeLike(part)}%`
}

/** Encodes a value for a jsonb column; `documentText` encodes those of documents. */
export function json(value: unknown): string {
  return JSON.stringify(value)
}

/** Counts the rows of a query that selects nothing yet. */
export async function countRows<T extends keyof Schema>(query: SelectQueryBuilder<Schema, T, object>): Promise<number> {
  const { count } = await query.select(sql<string>`count(*)`.as('count')).executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * A new connection is a new process that logs in, reads the catalog and plans every statement, for which a request waits
 * tens of milliseconds. The driver's ten seconds would end connections between the moments in which they are needed.
 */
const IDLE_MS = 5 * 60_000

/** Connections to another machine may start TLS on the socket, which reads otherwise. */
function socketOptions({ host }: pg.PoolConfig): pg.PoolConfig {
  return host?.startsWith('/') === true ? { stream: () => new Socket({ onread: sharedReads }) } : {}
}

/** Opens the pool. `onError` receives errors of connections that break while idle; queries report their own errors. */
export function openPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    max: 16,
    idleTimeoutMillis: IDLE_MS,
    pipeline: true,
    ...socketOptions(connection),
    ...connection,
  })
  pool.on('error', onError)
  // The pool listens to idle connections only, and an error event without a listener ends the process. Whatever uses
  // the connection notices the break by its next query.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * A small pool for reads that every request needs: no other work delays them, and each is planned once per connection.
 * PostgreSQL would otherwise plan a lookup by a list of keys again for each list, because it takes an unknown list for
 * a long one; that costs twice as much as the lookup.
 */
export function openHotPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  return openPool({ ...connection, max: 4, options: '-c plan_cache_mode=force_generic_plan' }, onError)
}

/**
 * A pool for work on many rows by their keys: each join looks its rows up in an index, one by one, and each statement is
 * planned for the present sizes of its tables. PostgreSQL would otherwise read whole tables that it expects to be small,
 * until it has analyzed them: each of the hundred rounds of a new large upgrade would then read all of it.
 */
export function openKeyPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  return openPool({ ...connection, max: 4, options: optionsByKeys('force_custom_plan') }, onError)
}

/**
 * Does the same as openKeyPool() for the claims of workers, which are executed for every few queued rows. Each claim is
 * planned once per connection, because planning takes longer than execution. The statement of a claim must leave the
 * planner only the intended order and indexes, so it reads each table by a lateral query with a limit.
 */
export function openClaimPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  return openPool({ ...connection, max: 2, options: optionsByKeys('force_generic_plan') }, onError)
}

/**
 * A pool for queues, tables that are now empty and then full: their rows are found by arrays of their ids, in an index. A plan
 * that was made while such a table was empty, or for statistics that say so, would read all of it, and while a transaction is
 * open, all rows that are gone as well. Each statement is planned once per connection, for any number of rows.
 */
export function openQueuePool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const off = ['jit', 'enable_mergejoin', 'enable_seqscan']
  return openPool({ ...connection, max: 3, options: optionsOf('force_generic_plan', off) }, onError)
}

/**
 * One connection for reads, and some changes, of an account that uses more than its share of the server. An operation
 * that queries in the middle of a transaction, but outside of it, would wait forever. The processes that would help with
 * a large read have the usual priority, so there are none.
 * @param onOpen Receives the process of the database behind each new connection.
 */
export function openHeavyPool(
  connection: pg.PoolConfig,
  { onError, onOpen }: { readonly onError: (error: Error) => void; readonly onOpen: (pid: number) => void },
): pg.Pool {
  const pool = openPool({ ...connection, max: 1, options: '-c max_parallel_workers_per_gather=0' }, onError)
  pool.on('connect', (client) => {
    if ('processID' in client && typeof client.processID === 'number') onOpen(client.processID)
  })
  return pool
}

type PlanCacheMode = 'force_custom_plan' | 'force_generic_plan'

function optionsByKeys(plans: PlanCacheMode): string {
  return optionsOf(plans, ['jit', 'enable_hashjoin', 'enable_mergejoin', 'enable_material', 'enable_seqscan'])
}

function optionsOf(plans: PlanCacheMode, off: readonly string[]): string {
  return [`plan_cache_mode=${plans}`, ...off.map((name) => `${name}=off`)].map((each) => `-c ${each}`).join(' ')
}

/**
 * Ends the pool and waits until every connection is closed. `pool.end` resolves while they are still closing, and a
 * database that is stopped then logs an error for each.
 */
export async function endPool(pool: pg.Pool): Promise<void> {
  let open = pool.totalCount
  const closed = new Promise<void>((resolve) => {
    if (open === 0) resolve()
    pool.on('remove', () => {
      open -= 1
      if (open <= 0) resolve()
    })
  })
  await pool.end()
  await closed
}

/** @param secrets Seals the secrets in documents (sealing/document-codec.ts). */
export function openDb(pool: pg.Pool, secrets: Secrets): Db {
  const names = new ColumnNames()
  const codec = createDocumentCodec(secrets)
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: preparingPool(pool, codec, (column) => names.nameOf(column)) }),
    plugins: [names],
  })
}

/**
 * A read by lists of keys, built and compiled once: for a query that every request needs, compilation would cost more
 * than the rest.
 * @param build The query for the lists, which must be its only parameters, each of them once and in this order.
 */
export function readByKeys<L extends readonly (readonly unknown[])[], R>(
  db: Db,
  build: (db: Db, ...lists: L) => { compile(): CompiledQuery<R> },
): (...lists: L) => Promise<R[]> {
  // No list that the query is built with is ever sent.
  const none = Array.from({ length: build.length - 1 }, () => []) as readonly unknown[] as L
  const compiled = build(db, ...none).compile()
  if (compiled.parameters.length !== none.length) throw new Error('A read by keys has other parameters than its lists')
  return async (...lists) => (await db.executeQuery<R>({ ...compiled, parameters: lists })).rows
}

export interface Transactional {
  readonly db: Db
  readonly wakes: Wakes
}

export interface TransactionalByKeys {
  readonly keyDb: Db
  readonly wakes: Wakes
}

/**
 * Runs `work` in one transaction (read committed) and, once it has committed, wakes the workers that `wakeAfterCommit`
 * named in it. A thrown error rolls everything back and wakes no worker. If the connection breaks during the commit, the
 * workers are woken too: the rows may be there.
 * @throws AppError not_found if a row refers to an organization or a site that has just been deleted.
 */
export async function inTx<T>(ctx: Transactional, work: (tx: Tx) => Promise<T>): Promise<T> {
  let begun: Tx | null = null
  let committing: Tx | null = null
  const { result, wakes } = await runCollectingWakes(async (collect) => {
    const { value, afterCommit } = await ctx.db.transaction().execute(async (tx) => {
      begun = tx
      collect(tx)
      collectLast(tx)
      const value = await work(tx)
      committing = tx
      return { value, afterCommit: await runLast(tx) }
    })
    await afterCommit()
    return value
  })
    .catch((error: unknown) => {
      if (committing !== null && isPassingError(error)) publishUncertainWakes(ctx.wakes, committing)
      throw goneOf(error) ?? error
    })
    .finally(() => {
      if (begun === null) return
      endCollection(begun)
      endCounting(begun)
    })
  publishWakes(ctx.wakes, wakes)
  return result
}

/**
 * Executes one statement that is a transaction of its own, without what inTx() does around it. The caller wakes the workers. If
 * the connection breaks, the router is woken: the rows may be there.
 * @throws AppError as inTx().
 */
export async function executeAlone<R>({ db, wakes }: Transactional, compiled: CompiledQuery<R>): Promise<R[]> {
  try {
    return (await db.executeQuery(compiled)).rows
  } catch (error) {
    if (isPassingError(error)) wakes.wake('outbox')
    throw goneOf(error) ?? error
  }
}

/** Does the same as inTx() for work on many rows by their keys; see openKeyPool(). */
export function inTxByKeys<T>(ctx: TransactionalByKeys, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTx({ db: ctx.keyDb, wakes: ctx.wakes }, work)
}

/**
 * Does the same as inTx() for facts that are reported or found again if they are lost: the commit does not wait for the
 * disk, so it delays no commit that does. A crash of the database loses the last second of such commits, but none that
 * was followed by one of inTx(). See decision 136.
 */
export function inUnflushedTx<T>(ctx: Transactional, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTx(ctx, async (tx) => {
    await sql`set local synchronous_commit = off`.execute(tx)
    return work(tx)
  })
}

/**
 * Runs `work` in a transaction by keys, and lets PostgreSQL keep the plans of its statements. It would otherwise plan the
 * check of a foreign key again for every row, which takes thirty times as long as the check.
 */
export async function keepingPlans<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await sql`set local plan_cache_mode = auto`.execute(tx)
  const result = await work()
  await sql`set local plan_cache_mode to default`.execute(tx)
  return result
}

/**
 * Runs `work` so that PostgreSQL looks up each row of a join by an index, as in a transaction by keys: rows are then locked in
 * the order in which they are given.
 */
export async function lookingUp<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  const off = { hash: 'off', merge: 'off', seq: 'off' }
  const { rows } = await sql<typeof off>`
    select current_setting('enable_hashjoin') as hash, current_setting('enable_mergejoin') as merge,
      current_setting('enable_seqscan') as seq, ${joinSettings(off)}`.execute(tx)
  const result = await work()
  await sql`select ${joinSettings(rows[0] ?? off)}`.execute(tx)
  return result
}

function joinSettings({ hash, merge, seq }: Record<'hash' | 'merge' | 'seq', string>): RawBuilder<unknown> {
  return sql`set_config('enable_hashjoin', ${hash}, true), set_config('enable_mergejoin', ${merge}, true),
    set_config('enable_seqscan', ${seq}, true)`
}

/** Makes each later statement of the transaction fail that waits longer for a lock; see isLockTimeout(). */
export async function limitLockWaits(tx: Tx, ms: number): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(ms)}`.execute(tx)
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03'
}

/** True if a row with the same key exists. */
export function isUniqueViolation(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '23505'
}

/** True if a row that another one refers to is missing, or was about to be deleted. */
export function isForeignKeyViolation(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '23503'
}

/**
 * PostgreSQL's classes of errors that do not concern the statement itself: connection, conflict, resources, operator,
 * system.
 */
const passingClasses = new Set(['08', '25', '40', '53', '55', '57', '58'])

/** True if the same work may succeed later: the database is unreachable, busy, full or being stopped. */
export function isPassingError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return passingClasses.has(error.code?.slice(0, 2) ?? '')
  // A broken connection is a plain Error of pg, or has a system error code. A RangeError or TypeError has neither.
  if (!(error instanceof Error)) return false
  return error.constructor === Error || ('code' in error && /^E(?!RR_)/.test(String(error.code)))
}

/** Foreign keys to an organization or a site have the names that PostgreSQL gives them. */
function goneOf(error: unknown): Error | undefined {
  if (!isForeignKeyViolation(error) || !/_org_id(_site_id)?_fkey$/.test(error.constraint ?? '')) return undefined
  const [, id] = /=\((?:[^()]*, )?([^(),]+)\)/.exec(error.detail ?? '') ?? []
  return notFound(id ?? '')
}
