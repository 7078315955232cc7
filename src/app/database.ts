import type pg from 'pg'
import { lockDatabase } from '../platform/database/database-lock.ts'
import { AppError } from '../platform/errors.ts'
import { startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.ts'
import type { Logger } from '../platform/log.ts'
import type { Closing } from './closing.ts'
import type { Config } from './config/config.ts'
import { RESERVES_MS } from './reserves.ts'

export interface Database {
  readonly connection: pg.PoolConfig
  /** True if the processes of the database are our own. */
  readonly isEmbedded: boolean
  /**
   * Resolves with a sentence when we can no longer work on it: the embedded PostgreSQL ended, or another
   * server took the database over. Pending otherwise.
   */
  readonly lost: Promise<string>
}

export interface DatabaseOptions {
  readonly config: Config
  readonly log: Logger
  readonly closing: Closing
  /** Names the holder of the database's lock. */
  readonly program: 'server' | 'migrate'
}

/**
 * Opens the operator's PostgreSQL if one is configured, or else our own, started in the data folder. It is locked
 * against every other server and migration before anything else is done with it.
 *
 * @throws AppError conflict when another program uses it.
 */
export async function openDatabase({ config, log, closing, program }: DatabaseOptions): Promise<Database> {
  const { connection, ended } = await openPostgres(config, log, closing)
  const lock = await lockDatabase({ connection, log, program }).catch((error: unknown) => {
    throw explainDatabaseError(config, error)
  })
  closing.add('database lock', () => lock.release())
  return { connection, isEmbedded: config.databaseUrl === null, lost: Promise.race([ended, lock.lost]) }
}

interface Postgres {
  readonly connection: pg.PoolConfig
  /** Resolves with a sentence when the PostgreSQL that we run ends by itself; pending for the operator's own. */
  readonly ended: Promise<string>
}

async function openPostgres(config: Config, log: Logger, closing: Closing): Promise<Postgres> {
  if (config.databaseUrl !== null)
    return { connection: { connectionString: config.databaseUrl }, ended: new Promise(() => {}) }
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log })
  let stopping = false
  const stop = (withinMs: number): Promise<void> => {
    stopping = true
    return postgres.stop(withinMs)
  }
  closing.add('postgres', stop, RESERVES_MS.postgres)
  const ended = postgres.exited.then((reason) => {
    if (stopping) return new Promise<string>(() => {})
    return `the embedded PostgreSQL ended: ${reason}`
  })
  return { connection: { ...postgres.connection }, ended }
}

/** Explains the failures that an operator can mend. */
export function explainDatabaseError(config: Config, error: unknown): unknown {
  if (config.databaseUrl === null || !(error instanceof Error) || isConflict(error)) return error
  const why = error.message === '' && 'code' in error ? String(error.code) : error.message
  return new AppError('unavailable', `SIGNALBOX_DATABASE_URL can't be used: ${why}`)
}

/** Another program uses the database; the setting is right. */
function isConflict(error: Error): boolean {
  return error instanceof AppError && error.code === 'conflict'
}
