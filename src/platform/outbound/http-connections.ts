import type { Socket } from 'node:net'
import { LastHead } from './answer-parser.ts'
import { type PlainRequest, type Target, encodeRequest } from './encode-request.ts'
import { type Exchange, HttpConnection } from './http-connection.ts'

/** An open connection. */
export interface Opened {
  readonly socket: Socket
  /** Null through a proxy, because the other end is not that of the call. */
  readonly remoteAddress: string | null
}

/** Opens a connection for a URL. `done` gets an error or the connection. */
export type Connect = (url: URL, done: (error: Error | null, opened: Opened | null) => void) => void

/** A request that waits for a connection or has one. */
export interface RunningRequest {
  /** The address at the other end; null before there is a connection, and for calls through a proxy. */
  remoteAddress(): string | null
  /** Ends the request without a further call of its exchange, and its connection unless that is still being opened. */
  cut(): void
}

/** The connections to all origins that share a certificate and the way it is verified. */
export interface HttpConnections {
  /**
   * Sends a request on a connection of its own: an idle one, if there is one and `isFresh` is false.
   * @throws Error if a header can't be sent.
   */
  send(request: PlainRequest, exchange: Exchange, isFresh: boolean): RunningRequest
  /** Closes each connection after its present request. */
  close(): Promise<void>
  /** Closes all connections; running requests fail. */
  destroy(): Promise<void>
}

class Waiting implements RunningRequest {
  readonly origin: Origin
  readonly target: Target
  readonly request: readonly Buffer[]
  readonly exchange: Exchange
  connection: HttpConnection | null = null
  isOver = false

  constructor(origin: Origin, request: PlainRequest, exchange: Exchange) {
    this.origin = origin
    this.target = request.target
    this.request = encodeRequest(request)
    this.exchange = exchange
  }

  remoteAddress(): string | null {
    return this.connection?.remoteAddress ?? null
  }

  cut(): void {
    this.isOver = true
    this.connection?.destroy()
  }
}

interface Idle {
  readonly connection: HttpConnection
  readonly untilMs: number
}

interface Origin {
  readonly name: string
  /** The one that was used last comes last. */
  readonly idle: Idle[]
  /** Connections that become idle at the end of the turn, and requests that will get them. */
  resting: Idle[]
  waiting: Waiting[]
  /** The connections that are open or being opened. */
  connections: number
  readonly lastHead: LastHead
}

const SWEEP_MS = 250

/**
 * A connection is used again only after the present turn of the event loop, in which its end, or bytes that nobody asked for,
 * would have been noticed. Requests that begin meanwhile wait for it, so those of a turn are sent together.
 */
export function createHttpConnections(connect: Connect): HttpConnections {
  const origins = new Map<string, Origin>()
  const open = new Set<HttpConnection>()
  const turning = new Set<Origin>()
  let opening = 0
  let sweeper: NodeJS.Timeout | null = null
  let end: 'closed' | 'destroyed' | null = null
  const drained = Promise.withResolvers<void>()

  function start(one: Waiting, connection: HttpConnection): void {
    one.connection = connection
    connection.send(one.request, one.exchange)
  }

  function findIdle({ idle }: Origin): HttpConnection | undefined {
    const now = performance.now()
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
      if (last.untilMs > now && last.connection.isFree) return last.connection
      last.connection.destroy()
    }
    return undefined
  }

  function startOn(one: Waiting): void {
    const connection = findIdle(one.origin)
    if (connection === undefined) connectFor(one)
    else start(one, connection)
  }

  function endTurn(): void {
    const ended = [...turning]
    turning.clear()
    for (const origin of ended) {
      const { resting, waiting } = origin
      origin.resting = []
      origin.waiting = []
      for (const idle of resting) {
        if (end === null && idle.connection.isFree) origin.idle.push(idle)
        else idle.connection.destroy()
      }
      for (const one of waiting) if (!one.isOver) startOn(one)
    }
    sweeper ??= setTimeout(sweep, SWEEP_MS).unref()
  }

  function sweep(): void {
    sweeper = null
    const now = performance.now()
    let isLeft = false
    for (const { idle } of origins.values()) {
      // All are kept for about the same time, so the oldest ones come first.
      while (idle[0] !== undefined && (idle[0].untilMs <= now || !idle[0].connection.isFree))
        idle.shift()?.connection.destroy()
      isLeft ||= idle.length > 0
    }
    if (isLeft) sweeper = setTimeout(sweep, SWEEP_MS).unref()
  }

  function rest(origin: Origin, connection: HttpConnection, keepMs: number): void {
    origin.resting.push({ connection, untilMs: performance.now() + keepMs })
    if (turning.size === 0) setImmediate(endTurn)
    turning.add(origin)
  }

  function leave(origin: Origin): void {
    origin.connections -= 1
    if (origin.connections === 0 && origin.waiting.length === 0) origins.delete(origin.name)
    if (end !== null && open.size + opening === 0) drained.resolve()
  }

  function connectFor(one: Waiting): void {
    const { origin } = one
    origin.connections += 1
    origins.set(origin.name, origin)
    opening += 1
    connect(one.target.url, (error, opened) => {
      opening -= 1
      if (opened === null || end === 'destroyed') {
        opened?.socket.destroy()
        leave(origin)
        if (!one.isOver) one.exchange.onError(error ?? new Error('the connections are closed'))
        return
      }
      const connection: HttpConnection = new HttpConnection({
        ...opened,
        lastHead: origin.lastHead,
        onIdle: (keepMs) => rest(origin, connection, keepMs),
        onClose() {
          open.delete(connection)
          leave(origin)
        },
      })
      open.add(connection)
      if (one.isOver) rest(origin, connection, SWEEP_MS)
      else start(one, connection)
    })
  }

  return {
    send(request, exchange, isFresh) {
      if (end !== null) throw new Error('the connections are closed')
      const origin = origins.get(request.target.origin) ?? newOrigin(request.target.origin)
      const one = new Waiting(origin, request, exchange)
      if (isFresh) connectFor(one)
      else if (origin.idle.length === 0 && origin.resting.length > origin.waiting.length) origin.waiting.push(one)
      else startOn(one)
      return one
    },
    async close() {
      end ??= 'closed'
      for (const { idle } of origins.values()) for (const { connection } of idle.splice(0)) connection.destroy()
      if (open.size + opening > 0) await drained.promise
    },
    async destroy() {
      end = 'destroyed'
      if (sweeper !== null) clearTimeout(sweeper)
      for (const connection of open) connection.destroy()
    },
  }
}

function newOrigin(name: string): Origin {
  return { name, idle: [], resting: [], waiting: [], connections: 0, lastHead: new LastHead() }
}
