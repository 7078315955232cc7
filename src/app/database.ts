import type pg from 'pg'
import { AppError } from '../platform/errors.ts'
import { startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.ts'
import type { Logger } from '../platform/log.ts'
import type { Closing } from './closing.ts'
import type { Config } from './config.ts'

export interface Database {
  readonly connection: pg.PoolConfig
  /** Settles with a sentence when the database that we run ends by itself; never for the operator's own. */
  readonly lost: Promise<string>
}

/** The operator's PostgreSQL where one is configured, else our own, started in the data folder. */
export async function openDatabase(config: Config, log: Logger, closing: Closing): Promise<Database> {
  if (config.databaseUrl !== null)
    return { connection: { connectionString: config.databaseUrl }, lost: new Promise(() => {}) }
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log })
  let stopping = false
  closing.add('postgres', () => {
    stopping = true
    return postgres.stop()
  })
  const lost = postgres.exited.then((exit) => {
    if (stopping) return new Promise<string>(() => {})
    return `the embedded PostgreSQL ended (${JSON.stringify(exit)})`
  })
  return { connection: { ...postgres.connection }, lost }
}

/** Explains the failures that an operator can mend. */
export function explainDatabaseError(config: Config, error: unknown): unknown {
  if (config.databaseUrl === null || !(error instanceof Error)) return error
  const why = error.message === '' && 'code' in error ? String(error.code) : error.message
  return new AppError('unavailable', `SIGNALBOX_DATABASE_URL can't be used: ${why}`)
}
