import { setTimeout as delay } from 'node:timers/promises'
import { Client, DatabaseError, escapeIdentifier } from 'pg'
import { SUPERUSER } from './cluster.ts'

export interface SocketAddress {
  readonly host: string
  readonly port: number
}

const POLL_MS = 5

/**
 * "the database system is starting up": PostgreSQL also answers this throughout a recovery, however long that takes.
 */
const CANNOT_CONNECT_NOW = '57P03'

/**
 * Connects as superuser as soon as the server accepts connections.
 * @returns Null when `exited` settles first.
 */
export async function connectWhenReady(address: SocketAddress, exited: Promise<unknown>): Promise<Client | null> {
  const ended = new AbortController()
  void exited.then(() => ended.abort())
  while (!ended.signal.aborted) {
    const client = new Client({ host: address.host, port: address.port, user: SUPERUSER, database: 'postgres' })
    // Whatever uses the connection notices a break; an error event without a listener would end the process.
    client.on('error', () => {})
    try {
      await client.connect()
      return client
    } catch (error) {
      if (!isNotYet(error)) throw error
    }
    await delay(POLL_MS)
  }
  return null
}

function isNotYet(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.code === CANNOT_CONNECT_NOW
  // There is no socket yet, or a dead one of the last run, or the server ended during the greeting.
  return true
}

/** Creates a role, and a database of the same name that the role owns, so that the application needs no superuser. */
export async function ensureDatabase(client: Client, name: string): Promise<void> {
  const quoted = escapeIdentifier(name)
  const { rows } = await client.query<{ role: boolean; database: boolean }>(
    `select exists (select from pg_roles where rolname = $1) as role,
            exists (select from pg_database where datname = $1) as database`,
    [name],
  )
  if (rows[0]?.role !== true) await client.query(`create role ${quoted} login`)
  if (rows[0]?.database !== true) await client.query(`create database ${quoted} owner ${quoted}`)
}
