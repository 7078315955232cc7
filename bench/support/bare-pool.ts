import { Socket } from 'node:net'
import pg from 'pg'
import { createPoolSockets } from '../../src/platform/database/connections/end-pool.ts'
import type { PostgresConnection } from '../../src/platform/embedded-postgres/embedded-postgres.ts'

/**
 * Opens the pool of a reference: one of the driver without settings of ours. endPool() must end it, because the driver does not
 * wait until its connections are closed: a database that is stopped then breaks them, and this error would end the process.
 */
export function openBarePool(connection: PostgresConnection): pg.Pool {
  const sockets = createPoolSockets()
  const pool = new pg.Pool({ ...connection, max: 4, stream: () => sockets.add(new Socket()) })
  sockets.assign(pool)
  return pool
}
