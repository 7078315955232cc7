import type { Socket } from 'node:net'
import type pg from 'pg'
import { pause } from '../../time/pause.ts'

/** Closing a connection takes milliseconds, and seconds on a machine that is much too busy. */
const END_WITHIN_MS = 10_000

/** What the types of the driver lack. */
interface PoolQueue {
  readonly _pendingQueue: { readonly callback: (error: Error) => void }[]
}

const openSockets = new WeakMap<pg.Pool, ReadonlySet<Socket>>()

/** The open sockets of a pool, which the pool itself does not count while they connect or close. */
export interface PoolSockets {
  /** @returns The socket. */
  add(socket: Socket): Socket
  /** Sets the pool whose sockets these are. */
  assign(pool: pg.Pool): void
}

export function createPoolSockets(): PoolSockets {
  const sockets = new Set<Socket>()
  return {
    add(socket) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    assign: (pool) => void openSockets.set(pool, sockets),
  }
}

export interface PoolCounts {
  /** Connections, including those that are connecting or closing. */
  readonly open: number
  /** Connections that are connecting or have not been returned. */
  readonly inUse: number
  /** Queries and transactions that wait for a connection. */
  readonly waiting: number
}

export function countPool(pool: pg.Pool): PoolCounts {
  const { totalCount, idleCount, waitingCount } = pool
  return { open: openSockets.get(pool)?.size ?? 0, inUse: totalCount - idleCount, waiting: waitingCount }
}

/**
 * Ends the pool and waits until every connection is closed. `pool.end` resolves while they are still closing, and a
 * database that is stopped then logs an error for each. Callers that still wait for a connection get an error; the
 * driver would leave them waiting forever.
 * @param pool One of openPool().
 * @param withinMs Connections that have not closed by then are cut.
 * @throws Error with the counts of the pool if connections were cut.
 */
export async function endPool(pool: pg.Pool, withinMs: number = END_WITHIN_MS): Promise<void> {
  const sockets = openSockets.get(pool)
  if (sockets === undefined) throw new Error('The pool was not opened by openPool()')
  const returned = pool.end()
  for (const { callback } of queueOf(pool).splice(0)) callback(new Error('The pool of connections was ended'))
  const late = new AbortController()
  const ended = Promise.all([returned, untilClosed(sockets)]).then(() => late.abort())
  await Promise.race([ended, pause(withinMs, late.signal)])
  if (late.signal.aborted) return
  const { open, inUse } = countPool(pool)
  for (const socket of sockets) socket.destroy()
  await untilClosed(sockets)
  throw new Error(
    `Connections to the database were cut after ${Math.round(withinMs)} ms: ${open} were open, ${inUse} in use`,
  )
}

function queueOf(pool: pg.Pool): PoolQueue['_pendingQueue'] {
  return (pool as unknown as PoolQueue)._pendingQueue
}

async function untilClosed(sockets: ReadonlySet<Socket>): Promise<void> {
  await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
}
