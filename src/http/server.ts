import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import cookie from '@fastify/cookie'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { uuidv7 } from '../platform/uuidv7.ts'
import { createConnectionGate } from '../platform/queues/connection-gate.ts'
import type { Logger } from '../platform/log.ts'
import { MAX_PUBLIC_BYTES, limitBodyTime } from './bodies/body-limits.ts'
import { beginByTurns } from './connections/begin-by-turns.ts'
import { noteRequest, replyToBrokenRequest, replyToExpectation } from './connections/broken-requests.ts'
import { assertOneHost, assertPlainBody, hasBody } from './connections/check-headers.ts'
import { replyWithError } from './errors.ts'
import { createForwardedForCheck } from './connections/forwarded-for.ts'
import { endSilentConnections } from './connections/end-silent.ts'
import { guardConnections } from './connections/guard-connections.ts'
import { acceptJson } from './bodies/json.ts'
import { finishOperations } from './turns/completion/finish-operations.ts'
import { opensStream } from './stream/opens-stream.ts'
import { NoSuchPath, trackServedPaths } from './unserved.ts'
import { compileValidator } from './validate.ts'

/** A client that sends its headers more slowly occupies a socket for nothing. Uploads may take their time. */
const timeouts = { headersTimeout: 15_000, keepAliveTimeout: 65_000, requestTimeout: 0 }
/** Default of `connectionsPerNetwork`: many people may share one address. */
const MAX_PER_NETWORK = 2000
/** The time limit of the TLS handshake. */
const HANDSHAKE_MS = 15_000
/** The parser would refuse a request without `Host` with an empty answer; assertOneHost() gives the reason. */
const parsing = { requireHostHeader: false, shouldUpgradeCallback: opensStream }
/** Time limit for a whole body, except for uploads of authenticated callers. */
const BODY_MS = 30_000
/** A connection without traffic for this long, such as a stalled upload or download, is closed. */
const SILENCE_MS = 120_000

/** How long browsers use HTTPS only, from each answer. */
const HTTPS_ONLY_S = 365 * 24 * 3600

export interface HttpOptions {
  readonly log: Logger
  /** PEM texts; plain HTTP without them. */
  readonly tls: { readonly cert: string; readonly key: string } | null
  /** Address ranges of reverse proxies whose X-Forwarded-For is trusted; default none. */
  readonly trustedProxies?: readonly string[]
  /** Ranges of load balancers that send PROXY headers; default none. */
  readonly balancers?: readonly string[]
  /** Connections that one network may have open at a time; those of trusted proxies are not counted. Default 2000. */
  readonly connectionsPerNetwork?: number
  /** Called after the connection of a network that has too many was closed. */
  readonly onRefused?: () => void
  /** Default 30 s. */
  readonly bodyMs?: number
  /** True if clients reach the server by HTTPS, its own or that of a proxy; evaluated at each request. */
  readonly isSecure?: () => boolean
}

/** Creates a server with the conventions of the interface and no routes yet. */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const { tls, trustedProxies = [], balancers = [], bodyMs = BODY_MS, isSecure = () => tls !== null } = options
  const { connectionsPerNetwork = MAX_PER_NETWORK, onRefused = () => {} } = options
  const policy = { maxPerNetwork: connectionsPerNetwork, uncounted: trustedProxies, balancers }
  const gate = createConnectionGate(policy, options.log)
  let beginWaiting = (): void => {}
  const loggerInstance: FastifyBaseLogger = options.log.child({ part: 'http' })
  const http = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIds(),
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    // Only defects are logged, with the request's id; a logger per request would be wasted.
    childLoggerFactory: (logger) => logger,
    bodyLimit: MAX_PUBLIC_BYTES,
    routerOptions: { maxParamLength: 500 },
    forceCloseConnections: 'idle',
    // A path that can't be decoded, or with an endless segment, fails before any route is found.
    frameworkErrors: replyWithError,
    clientErrorHandler: replyToBrokenRequest,
    serverFactory(handler) {
      const { listener, beginAll } = beginByTurns(handler)
      beginWaiting = beginAll
      const server =
        tls === null
          ? createServer({ ...timeouts, ...parsing }, listener)
          : createTlsServer({ ...timeouts, ...parsing, ...tls, handshakeTimeout: HANDSHAKE_MS }, listener)
      return guardConnections(server, gate, onRefused)
        .setTimeout(SILENCE_MS)
        .on('request', noteRequest)
        .on('checkExpectation', replyToExpectation)
    },
  })
  http.decorate('beginWaiting', beginWaiting)
  endSilentConnections(http.server)
  finishOperations(http)
  http.setValidatorCompiler(compileValidator)
  // Presenters pick every field; a second pick by a response schema would only drop fields that they include on
  // purpose.
  http.setSerializerCompiler(() => JSON.stringify)
  const replyUnserved = trackServedPaths(http)
  http.setNotFoundHandler(replyUnserved)
  http.setErrorHandler((error, request, reply) => {
    if (error instanceof NoSuchPath) replyUnserved(request, reply)
    else replyWithError(error, request, reply)
  })
  http.removeAllContentTypeParsers()
  http.decorateRequest('runsApart', false)
  acceptJson(http)
  const checkForwardedFor = createForwardedForCheck(options.log)
  http.addHook('onRequest', (request, reply, done) => {
    checkForwardedFor(request)
    void reply.header('x-content-type-options', 'nosniff')
    if (isSecure()) void reply.header('strict-transport-security', `max-age=${HTTPS_ONLY_S}`)
    assertOneHost(request.raw)
    // A body that is never read, because its request is refused, needs a time limit too.
    if (hasBody(request)) limitBodyTime(request.raw, bodyMs)
    done()
  })
  http.addHook('preParsing', (request, _reply, payload, done) => {
    assertPlainBody(request)
    done(null, payload)
  })
  await http.register(cookie)
  http.addHook('preValidation', (request, _reply, done) => {
    // If the operation has a body, a request without body and content type counts as an empty object too.
    if (request.body === undefined && request.routeOptions.schema?.body !== undefined) request.body = {}
    done()
  })
  return http
}

/** Returns request ids that are unique across restarts; counting is cheaper than random bits for each request. */
function requestIds(): () => string {
  const start = uuidv7()
  let count = 0
  return () => `${start}-${(count += 1)}`
}
