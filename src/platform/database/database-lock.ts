import { hostname } from 'node:os'
import pg from 'pg'
import { AppError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { pause } from '../time/pause.ts'

/** The exclusive right to work on a database: two servers on one would undo each other's work. */
export interface DatabaseLock {
  /** Resolves with the reason once another program has the lock; pending while this process may go on. */
  readonly lost: Promise<string>
  release(): Promise<void>
}

export interface DatabaseLockOptions {
  readonly connection: pg.ClientConfig
  readonly log: Logger
  /** The program that has the lock, for people who search for it: `server` or `migrate`. */
  readonly program: string
  /** How long to wait for a holder that is about to end. Default 5 s. */
  readonly waitMs?: number
}

/** Any fixed pair. Locks of two keys never collide with those of one, such as that of migrate(). */
const KEYS = [1_397_181_004, 1] as const

/** PostgreSQL notices the death of a process within moments, but not immediately. */
const WAIT_MS = 5000
/** Finds connections that broke without a sign: a host that died, a firewall that dropped them. */
const CHECK_EVERY_MS = 5000
/** For every query, hence longer than each of the waits. */
const ANSWER_WITHIN_MS = 10_000
const RETRY_MS = 500
/** Longer than this process takes to notice a break, so that the lock is never free while it relies on it. */
const SERVER_NOTICES_AFTER_S = 30
/** PostgreSQL truncates the name of a connection to this length. */
const MAX_NAME_BYTES = 63
/** SQLSTATE lock_not_available: `lock_timeout` has passed. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Acquires the lock on a separate connection and keeps it until `release` or the end of the process. If the connection
 * breaks, it reacquires the lock as soon as the database answers. While the database does not answer, the process can
 * do no harm, because all its work goes through the same database.
 * @throws AppError conflict, one line that names the holder, when another program has the lock.
 */
export async function lockDatabase(options: DatabaseLockOptions): Promise<DatabaseLock> {
  const releasing = new AbortController()
  let held = await openLocked(options, { waitMs: options.waitMs ?? WAIT_MS })

  async function keep(): Promise<string | null> {
    for (;;) {
      await untilBroken(held.client, releasing.signal)
      await held.client.end()
      if (releasing.signal.aborted) return null
      options.log.warn('The connection that holds the database lock broke; taking the lock again')
      const next = await retake(options, held.session, releasing.signal)
      if (next === null || typeof next === 'string') return next
      held = next
      options.log.info('The database lock is held again')
    }
  }
  const kept = keep()
  return {
    lost: new Promise((resolve) => void kept.then((why) => why !== null && resolve(why))),
    async release() {
      releasing.abort()
      // Interrupts queries that wait on this connection; keep() closes a connection that it opens concurrently.
      await held.client.end()
      await kept
    },
  }
}

interface HeldLock {
  readonly client: pg.Client
  /** Process id of the connection's session in PostgreSQL. */
  readonly session: number
}

interface Taking {
  readonly waitMs: number
  /** A former session of this process that may still have the lock although its connection broke. */
  readonly former?: number
}

async function openLocked({ connection, program }: DatabaseLockOptions, { waitMs, former }: Taking): Promise<HeldLock> {
  const client = new pg.Client({
    ...connection,
    keepAlive: true,
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  })
  // The next query notices every break; an error event without a listener would end the process.
  client.on('error', () => {})
  const name = nameOf(program)
  try {
    await client.connect()
    await client.query(
      `select set_config('application_name', $1, false), set_config('lock_timeout', $2, false),
         set_config('statement_timeout', '0', false), set_config('idle_session_timeout', '0', false),
         set_config('tcp_keepalives_idle', $3, false), set_config('tcp_keepalives_interval', '5', false),
         set_config('tcp_keepalives_count', '3', false)`,
      [name, `${waitMs}ms`, String(SERVER_NOTICES_AFTER_S - 15)],
    )
    if (former !== undefined) await endSession(client, former, name)
    const session = await acquire(client)
    return { client, session }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Ends the former session of this process, which PostgreSQL may consider alive for much longer. */
async function endSession(client: pg.Client, session: number, name: string): Promise<void> {
  await client.query(
    'select pg_terminate_backend(pid, $3) from pg_stat_activity where pid = $1 and application_name = $2',
    [session, name, WAIT_MS],
  )
}

async function acquire(client: pg.Client): Promise<number> {
  try {
    const { rows } = await client.query<{ session: number }>(
      'select pg_backend_pid() as session, pg_advisory_lock($1, $2)',
      [...KEYS],
    )
    return rows[0]?.session ?? 0
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error
    throw new AppError('conflict', `${databaseOf(client)} is in use by ${await findHolder(client)}`)
  }
}

async function findHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ session: number; name: string | null }>(
    `select held.pid as session, holder.application_name as name
     from pg_locks held left join pg_stat_activity holder using (pid)
     where held.locktype = 'advisory' and held.granted and held.classid = $1 and held.objid = $2 and held.objsubid = 2
       and held.database = (select oid from pg_database where datname = current_database())`,
    [...KEYS],
  )
  const [holder] = rows
  if (holder === undefined) return 'a program that has just let it go; start again'
  // PostgreSQL hides the name of another role's session.
  return `${holder.name || 'another program'} (pid ${holder.session} in pg_stat_activity)`
}

function databaseOf({ database, host, port }: pg.Client): string {
  return `Database ${database} on ${host}:${port}`
}

function nameOf(program: string): string {
  const name = `signalbox ${program}, process ${process.pid} on ${hostname()}`
  return Buffer.from(name.replace(/[^\x20-\x7e]/g, '?')).toString('latin1', 0, MAX_NAME_BYTES)
}

/** Resolves when the connection no longer answers, or when `signal` aborts. */
async function untilBroken(client: pg.Client, signal: AbortSignal): Promise<void> {
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  while (!signal.aborted) {
    try {
      await client.query('select 1')
    } catch {
      return
    }
    await Promise.race([ended, pause(CHECK_EVERY_MS, signal)])
  }
}

/** @returns Null when `signal` aborts first; the reason when another program has the lock by now. */
async function retake(
  options: DatabaseLockOptions,
  former: number,
  signal: AbortSignal,
): Promise<HeldLock | string | null> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      return await openLocked(options, { waitMs: RETRY_MS, former })
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') return error.message
      const level = attempt === 1 ? 'warn' : 'debug'
      options.log[level]({ err: error, attempt }, "The database lock can't be taken yet")
    }
    await pause(RETRY_MS, signal)
  }
  return null
}
