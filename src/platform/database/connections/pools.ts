import { Socket } from 'node:net'
import pg from 'pg'
import { createPoolSockets } from './end-pool.ts'
import { sharedReads } from './shared-reads.ts'

/**
 * A new connection is a new process that logs in, reads the catalog and plans every statement, for which a request waits
 * tens of milliseconds. The driver's ten seconds would end connections between the moments in which they are needed.
 */
const IDLE_MS = 5 * 60_000

/** Connections to another machine may start TLS on the socket, which reads otherwise. */
function openSocket({ host }: pg.PoolConfig): Socket {
  return new Socket(host?.startsWith('/') === true ? { onread: sharedReads } : {})
}

/** Opens the pool. `onError` receives errors of connections that break while idle; queries report their own errors. */
export function openPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const sockets = createPoolSockets()
  const pool = new pg.Pool({
    max: 16,
    idleTimeoutMillis: IDLE_MS,
    pipeline: true,
    stream: () => sockets.add(openSocket(connection)),
    ...connection,
  })
  sockets.assign(pool)
  pool.on('error', onError)
  // The pool listens to idle connections only, and an error event without a listener ends the process. Whatever uses
  // the connection notices the break by its next query.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * A small pool for reads that every request needs: no other work delays them, and each is planned once per connection.
 * PostgreSQL would otherwise plan a lookup by a list of keys again for each list, because it takes an unknown list for
 * a long one; that costs twice as much as the lookup. It expects more rows than there are for a key in a small table, and would
 * collect their places in a bitmap, which takes longer than to read them one by one.
 */
export function openHotPool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  return openPool({ ...connection, max: 4, options: optionsOf('force_generic_plan', ['enable_bitmapscan']) }, onError)
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
 * open, all rows that are gone as well. Each statement is planned once per connection, for any number of rows. Tables that are joined
 * by their keys and grow are looked up as well; see `webhooks/store-look-ups.ts`.
 */
export function openQueuePool(connection: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const off = ['jit', 'enable_mergejoin', 'enable_seqscan']
  return openPool({ ...connection, max: 4, options: optionsOf('force_generic_plan', off) }, onError)
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

/** Nearly all rows are looked up once, so PostgreSQL would fill a cache of look-ups (`memoize`) in vain. See decision 400. */
function optionsByKeys(plans: PlanCacheMode): string {
  const off = ['jit', 'enable_hashjoin', 'enable_mergejoin', 'enable_material', 'enable_memoize', 'enable_seqscan']
  return optionsOf(plans, off)
}

function optionsOf(plans: PlanCacheMode, off: readonly string[]): string {
  return [`plan_cache_mode=${plans}`, ...off.map((name) => `${name}=off`)].map((each) => `-c ${each}`).join(' ')
}
