import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'

export interface DatabaseStatus {
  /** As `server_version` has it. */
  readonly version: string
  readonly bytes: number
  readonly connections: number
  readonly maxConnections: number
  /** The newest one that has been applied. */
  readonly migration: string
}

export async function findDatabaseStatus(reader: Reader): Promise<DatabaseStatus> {
  const { rows } = await sql<DatabaseStatus>`
    select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes,
      (select count(*)::integer from pg_stat_activity where datname = current_database()) as connections,
      current_setting('max_connections')::integer as max_connections,
      (select max(name) from migration) as migration
  `.execute(reader)
  const [status] = rows
  if (status === undefined) throw new Error('The database did not answer')
  return status
}
