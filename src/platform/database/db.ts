import {
  type CompiledQuery,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  type SelectQueryBuilder,
  type Transaction,
  sql,
} from 'kysely'
import pg from 'pg'
import { parseExactJson } from '../json/exact-json.ts'
import type { Schema } from './schema.ts'
import { endCounting } from './changes.ts'
import { ColumnNames } from './column-names.ts'
import { collectLast, runLast } from './last-statement.ts'
import { goneOf, isPassingError } from './database-errors.ts'
import { decodeTimestamp } from './encoding/timestamp.ts'
import { preparingPool } from './connections/prepared.ts'
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

/** A value for a jsonb column that is encoded already, because its length was needed first. */
export class EncodedJson {
  // Rows declare the column as an object of any members.
  readonly [name: string]: unknown
  readonly text: string

  constructor(value: object) {
    this.text = JSON.stringify(value)
  }
}

/** Encodes a value for a jsonb column; `documentText` encodes those of documents. */
export function json(value: unknown): string {
  return value instanceof EncodedJson ? value.text : JSON.stringify(value)
}

/** Counts the rows of a query that selects nothing yet. */
export async function countRows<T extends keyof Schema>(query: SelectQueryBuilder<Schema, T, object>): Promise<number> {
  const { count } = await query.select(sql<string>`count(*)`.as('count')).executeTakeFirstOrThrow()
  return Number(count)
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
 * A read by keys or lists of keys, built and compiled once: for a query that every request needs, compilation would cost more
 * than the rest.
 * @param build The query for the keys, which must be its only parameters, each of them once and in this order.
 */
export function readByKeys<K extends readonly unknown[], R>(
  db: Db,
  build: (db: Db, ...keys: K) => { compile(): CompiledQuery<R> },
): (...keys: K) => Promise<R[]> {
  // No key that the query is built with is ever sent.
  const none = Array.from({ length: build.length - 1 }, () => []) as readonly unknown[] as K
  const compiled = build(db, ...none).compile()
  if (compiled.parameters.length !== none.length) throw new Error('A read by keys has other parameters than its keys')
  return async (...keys) => (await db.executeQuery<R>({ ...compiled, parameters: keys })).rows
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

/** The connections of queues, for inTx() and inUnflushedTx(); see openQueuePool(). */
export function onQueues({
  queueDb: db,
  wakes,
}: Pick<Transactional, 'wakes'> & { readonly queueDb: Db }): Transactional {
  return { db, wakes }
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
