import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { migrate } from '../../src/platform/database/migrate.ts'
import {
  type PostgresConnection,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'

/** A new database, and the parts of a context that a benchmark does not choose. */
export interface BenchDatabase {
  readonly connection: PostgresConnection
  readonly log: Logger
  readonly baseUrl: string
}

/** Runs the work on a new database in this process, and deletes it afterwards. */
export async function withDatabase<T>(
  logLevel: 'warn' | 'error',
  work: (database: BenchDatabase) => Promise<T>,
): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const log = createLog(logLevel)
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  try {
    await migrate(postgres.connection)
    return await work({ connection: postgres.connection, log, baseUrl: 'http://127.0.0.1' })
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}
