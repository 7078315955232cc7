import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WebSocketServer } from 'ws'
import type { Authenticate } from '../../access/authentication/authenticate.ts'
import type { Caller } from '../../access/authorize.ts'
import { sessionCookieOf } from '../../access/authentication/session-cookie.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { startPoller } from '../../platform/time/poller.ts'
import { requesterOf } from '../connections/requester.ts'
import type { StreamPart } from './channel.ts'
import { StreamConnection, closeCodes } from './connection.ts'
import { channelFinder } from './find-channel.ts'
import { createHub } from './hub.ts'
import { STREAM_PATH } from './opens-stream.ts'

/** The longest request; it names one channel. */
const MAX_REQUEST_BYTES = 1024
/** The interval at which the permissions of connections are rechecked. */
const CHECK_MS = 10_000
/** The number of concurrent checks. */
const CHECKS_AT_ONCE = 20
/** A client that has not answered the last ping when the next one is due counts as gone. */
const PING_MS = 45_000
/** Connections of one account, and in all. */
const MAX_OF_CALLER = 200
const MAX_CONNECTIONS = 5000

/** Clients that use a host of this name parse `data` by themselves; see decision 704. */
const TEXT_HOST = 'api-ws.'

interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
}

/**
 * Serves live changes by WebSocket. Source: contract notes, "Live updates"; `seq`, `after`, `missed`, `ping` and `pong` are ours.
 * @param checkMs How often permissions are checked again.
 */
export function serveStream(
  ctx: Context,
  http: FastifyInstance,
  {
    authenticate,
    parts,
    checkMs = CHECK_MS,
  }: { readonly authenticate: Authenticate; readonly parts: readonly StreamPart[]; readonly checkMs?: number },
): void {
  const hub = createHub(
    ctx,
    parts.flatMap(({ sources }) => sources),
  )
  const find = channelFinder(parts.flatMap(({ channels }) => channels))
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_REQUEST_BYTES, perMessageDeflate: false })
  const upgrades = new WeakMap<IncomingMessage, Upgrade>()
  const closing: (() => Promise<void>)[] = []
  const connections = new Map<StreamConnection, { readonly account: string; readonly request: FastifyRequest }>()

  http.server.on('upgrade', (raw: IncomingMessage, socket: Socket, head: Buffer) => {
    upgrades.set(raw, { socket, head })
    // Node.js no longer listens: without a listener, a client that resets its connection would end the process.
    socket.on('error', () => socket.destroy())
    // The request goes the way of all others, so that its refusals do too.
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // The time limit for silence no longer holds either: a client could keep a refused connection open forever.
    response.once('finish', () => socket.destroySoon())
    http.routing(raw, response)
  })

  async function identify(request: FastifyRequest, isRecheck: boolean): Promise<Caller> {
    const from = requesterOf(request)
    const { authorization } = request.headers
    if (authorization !== undefined && !/^token\s/i.test(authorization))
      throw new AppError('unauthenticated', 'The stream takes a token or a session')
    const principal = await authenticate({
      authorization,
      sessionId: request.cookies[sessionCookieOf(ctx)],
      csrfToken: undefined,
      ...from,
      unsafe: false,
      isRecheck,
    })
    if (principal.secondFactor === 'missing')
      throw new AppError('unauthenticated', 'Two factor authentication is required.')
    return { principal, ...from }
  }

  function assertRoom(account: string): void {
    const own = [...connections.values()].filter((connection) => connection.account === account).length
    if (own >= MAX_OF_CALLER || connections.size >= MAX_CONNECTIONS)
      throw new AppError('rate_limited', 'Too Many Request. Too many connections to the stream.')
  }

  http.get(STREAM_PATH, async (request, reply) => {
    const upgrade = upgrades.get(request.raw)
    if (upgrade === undefined) {
      void reply.header('upgrade', 'websocket')
      throw new AppError('invalid', 'This path serves only WebSocket connections')
    }
    assertSameOrigin(request)
    const caller = await identify(request, false)
    const account = caller.principal.adminId ?? caller.principal.tokenId ?? ''
    assertRoom(account)
    const takesText = request.hostname.toLowerCase().startsWith(TEXT_HOST)
    reply.hijack()
    reply.raw.detachSocket(upgrade.socket)
    sockets.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (socket) => {
      const connection = new StreamConnection(socket, { ctx, hub, find, caller, takesText })
      connections.set(connection, { account, request })
      socket.on('close', () => connections.delete(connection))
    })
  })

  async function recheck(connection: StreamConnection, request: FastifyRequest): Promise<void> {
    try {
      connection.recheck(await identify(request, true))
    } catch (error) {
      if (error instanceof AppError) connection.close(closeCodes.policy, 'The credentials are no longer valid')
      else ctx.log.warn({ err: error }, 'the permissions of a connection to the stream could not be checked')
    }
  }

  async function recheckAll(): Promise<void> {
    const all = [...connections]
    for (let start = 0; start < all.length; start += CHECKS_AT_ONCE) {
      const some = all.slice(start, start + CHECKS_AT_ONCE)
      await Promise.all(some.map(([connection, { request }]) => recheck(connection, request)))
    }
  }

  http.addHook('onListen', async () => {
    const checker = startPoller({
      name: 'stream',
      ctx,
      intervalMs: checkMs,
      maxBackoffMs: checkMs,
      async work() {
        await recheckAll()
        return null
      },
    })
    const pings = setInterval(() => {
      for (const connection of connections.keys()) connection.ping()
    }, PING_MS)
    closing.push(async () => {
      clearInterval(pings)
      await checker.stop()
    })
  })
  http.addHook('preClose', async () => {
    for (const close of closing) await close()
    for (const connection of connections.keys()) connection.close(closeCodes.goingAway, 'The service stops')
    await hub.stop()
  })
}

/** @throws AppError forbidden if a page of another site opened the connection, with the cookies of its reader. */
function assertSameOrigin({ headers }: FastifyRequest): void {
  const { origin, host, authorization } = headers
  if (origin === undefined || authorization !== undefined) return
  if (!URL.canParse(origin) || new URL(origin).host !== host)
    throw new AppError('forbidden', 'A page of another origin may not open the stream')
}
