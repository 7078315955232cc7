import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Authenticate } from '../access/authentication/authenticate.ts'
import { canonicalAuthorization } from '../access/authentication/authorization.ts'
import type { Caller } from '../access/authorize.ts'
import { accountOf } from '../access/request-limits.ts'
import { AppError } from '../platform/errors.ts'
import { hiddenProperty } from '../platform/hidden-property.ts'
import { networkOf } from '../platform/outbound/network-of.ts'
import { acceptLargeBodies, waitBeforeBody } from './bodies/body-limits.ts'
import { type AccountMemory, createAccountMemory } from './turns/accounts/account-memory.ts'
import { type FairTurns, TURN_MS, createFairTurns } from './turns/fair-turns.ts'
import type { Requester } from './turns/lanes.ts'
import { assertStays, noteCheck } from './turns/completion/request-end.ts'
import { kindOfRequest } from './turns/costs/request-kind.ts'
import { requesterOf } from './connections/requester.ts'
import { isUuid } from './texts.ts'
import { threadCpuMs } from './turns/costs/thread-share.ts'
import { bodyBytesOf, isUpload, takesTurns } from './turns/request-body.ts'
import { MAX_REQUESTS_PER_ACCOUNT, type WorkLimits, createWorkLimits } from './turns/limits/work-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Only routes that are not `public` may read it. */
    caller: Caller
    /** True if the account of the caller uses so much that the requests of others go first; never for public routes. */
    isHeavy: boolean
    /** True if another process runs its operation, which then parses and checks the body as well. */
    runsApart: boolean
    /** Called in the middle of a long computation; see FairTurns. */
    giveWay(): Promise<void>
    /** Adds milliseconds of another process to what the request costs. */
    addCost(ms: number): void
  }
  interface FastifyContextConfig {
    /** Needs no credentials. */
    public?: boolean
    /** Another process can run it. */
    mayRunApart?: boolean
    /** See Operation. */
    readsSite?: boolean
    /** A session may call it before its second factor. */
    beforeSecondFactor?: boolean
    /** Its refusals name many objects, so `reason` is always a list: see ListErrorReply. */
    listsErrors?: boolean
  }
}

export interface ApiCallers {
  readonly authenticate: Authenticate
  /** Returns the name of the cookie with a session. */
  readonly sessionCookie: () => string
  /** Requests of one account that are in work at a time; default 100. */
  readonly requestsPerAccount?: number
  /** See createWorkLimits(), like the next one. */
  readonly firstMs?: number
  readonly maxUnreadBytes?: number
  /** The longest time for which a request counts as in work for its account; default 100 ms. */
  readonly turnMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
  /** Milliseconds of processor time that this thread has used. */
  readonly cpuMs?: () => number
  /** Milliseconds for which its event loop was busy. */
  readonly busyMs?: () => number
}

export interface ServedApi {
  /**
   * Counts work that earlier requests of an account have caused: milliseconds of the database on a machine without other
   * work. If it is much, later requests of the account have to wait.
   */
  readonly charge: (account: string, databaseMs: number) => void
}

/** Adds the routes of the interface under /api/v1. Each requires credentials unless its config is `public`. */
export async function serveApi(
  http: FastifyInstance,
  options: ApiCallers,
  plugins: readonly FastifyPluginAsync[],
): Promise<ServedApi> {
  const {
    authenticate,
    sessionCookie,
    requestsPerAccount = MAX_REQUESTS_PER_ACCOUNT,
    firstMs,
    maxUnreadBytes,
  } = options
  const { turnMs = TURN_MS, now = () => performance.now(), cpuMs = threadCpuMs, busyMs = loopBusyMs } = options
  const workLimits = createWorkLimits({ requestsPerAccount, firstMs, maxUnreadBytes, now })
  const turns = createFairTurns({ maxInWork: requestsPerAccount, now, cpuMs, busyMs, turnMs })
  const admission = { http, authenticate, sessionCookie, workLimits, turns, accounts: createAccountMemory() }
  await http.register(
    async (api) => {
      api.decorateRequest('caller')
      api.decorateRequest('isHeavy', false)
      api.decorateRequest('giveWay', function giveWay(this: FastifyRequest) {
        return turns.giveWay(responseOf(this))
      })
      api.decorateRequest('addCost', function addCost(this: FastifyRequest, ms: number) {
        turns.addCost(responseOf(this), ms)
      })
      acceptLargeBodies(api)
      api.addHook('onRequest', async (request, reply) => {
        // No cache may store answers that only this caller may read. Routes of pictures override this.
        void reply.header('cache-control', 'no-store')
        responses.set(request.raw, reply.raw)
        if (request.routeOptions.config.public !== true) await admitCaller(admission, request, reply.raw)
      })
      api.addHook('preHandler', async (request, reply) => {
        // The body has arrived: a body that arrives slowly occupies no place.
        if (request.routeOptions.config.public === true && takesTurns(request.raw))
          await turns.enter(whoIs(request, undefined), reply.raw)
      })
      api.addHook('onSend', (_request, reply, payload, done) => {
        // A download may take long but costs the server little.
        if (payload instanceof Readable) {
          turns.leave(reply.raw)
          workLimits.weighAnswer(reply.raw, 0)
        }
        if (typeof payload === 'string' || Buffer.isBuffer(payload)) workLimits.weighAnswer(reply.raw, payload.length)
        done(null, payload)
      })
      for (const plugin of plugins) await api.register(plugin)
    },
    { prefix: '/api/v1' },
  )
  return { charge: (account, databaseMs) => turns.charge(account, databaseMs) }
}

/** The responses to requests. Functions of each request would keep it until a full collection of V8; see decision 577. */
const responses = hiddenProperty<IncomingMessage, ServerResponse>('response')

/** @throws Error for a request outside of the interface. */
function responseOf({ raw }: FastifyRequest): ServerResponse {
  const response = responses.get(raw)
  if (response === undefined) throw new Error('The request has no response')
  return response
}

interface Admission extends Pick<ApiCallers, 'authenticate' | 'sessionCookie'> {
  readonly http: FastifyInstance
  readonly workLimits: WorkLimits
  readonly turns: FairTurns
  readonly accounts: AccountMemory
}

/**
 * Waits until the account of a request may have another one in work, and finds its caller.
 * @throws AppError unauthenticated, rate_limited for too many requests, and what the check of the credentials throws.
 */
async function admitCaller(
  { http, authenticate, sessionCookie, workLimits, turns, accounts }: Admission,
  request: FastifyRequest,
  response: ServerResponse,
): Promise<void> {
  const { config } = request.routeOptions
  const sessionId = request.cookies[sessionCookie()]
  const { authorization } = request.headers
  const credentials = authorization === undefined ? (sessionId ?? '') : canonicalAuthorization(authorization)
  const hasTurn = isUpload(request.raw) || takesTurns(request.raw)
  const exchange = { request: request.raw, response, kind: kindOfRequest(request) }
  const takePlaces = async (account: string): Promise<void> => {
    const who = whoIs(request, account)
    let resume = (): void => undefined
    const wait = (): void => void (resume = turns.countWaiting(who))
    await workLimits.enter(account, exchange, wait).finally(() => resume())
    if (hasTurn) await turns.enter(who, response)
  }
  const admit = (account: string): Promise<void> => waitBeforeBody(request.raw, takePlaces(account))
  // The check of credentials is work, too, so a request waits for its turn before its caller is known.
  const expected = accounts.find(credentials)
  if (expected !== undefined) await admit(expected)
  else if (hasTurn) await turns.enter(whoIs(request, undefined), response)
  const check = identify(request, authenticate, sessionId)
  noteCheck(response, check)
  http.openWork.add(check)
  request.caller = await check.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'unauthenticated') accounts.forget(credentials)
    throw error
  })
  // The body of a client that has left would never end.
  assertStays(response)
  const account = accountOf(request.caller.principal)
  if (account !== expected) {
    accounts.remember(credentials, account)
    turns.leave(response)
    workLimits.leave(response)
    await admit(account)
  }
  if (request.caller.principal.secondFactor === 'missing' && config.beforeSecondFactor !== true)
    throw new AppError('unauthenticated', 'Two factor authentication is required.')
  request.isHeavy = turns.isHeavy(account)
  const isLarge = !SAFE.has(request.method) && hasLargeBody(request.raw)
  const isExpensive = request.isHeavy || (isLarge && !turns.isAlone(account))
  request.runsApart = isExpensive && config.mayRunApart === true
}

/** Up to this size of its body, what a change does in this thread takes a few milliseconds, whatever the body contains. */
const LARGE_BODY_BYTES = 128 * 1024

function hasLargeBody(request: IncomingMessage): boolean {
  return bodyBytesOf(request) > LARGE_BODY_BYTES
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

function whoIs(request: FastifyRequest, account: string | undefined): Requester {
  const { method, ip, raw } = request
  return {
    account,
    network: networkOf(ip),
    requestKind: kindOfRequest(request),
    kind: isUpload(raw) ? 'upload' : SAFE.has(method) ? 'read' : 'change',
    // A body of undeclared length costs only what this thread spends on it.
    bodyBytes: raw.headers['transfer-encoding'] === undefined ? bodyBytesOf(raw) : 0,
  }
}

function loopBusyMs(): number {
  return performance.eventLoopUtilization().active
}

async function identify(
  request: FastifyRequest,
  authenticate: Authenticate,
  sessionId: string | undefined,
): Promise<Caller> {
  const csrf = request.headers['x-csrftoken']
  const from = requesterOf(request)
  const principal = await authenticate({
    authorization: request.headers.authorization,
    sessionId,
    csrfToken: typeof csrf === 'string' ? csrf : undefined,
    ...from,
    unsafe: !SAFE.has(request.method),
    siteId: siteIdOf(request),
    readsSite: request.routeOptions.config.readsSite === true,
  })
  return { principal, ...from }
}

/** The path is checked later, so it may have anything there. */
function siteIdOf({ params }: FastifyRequest): string | undefined {
  const siteId: unknown = Reflect.get(Object(params), 'site_id')
  return typeof siteId === 'string' && isUuid(siteId) ? siteId : undefined
}
