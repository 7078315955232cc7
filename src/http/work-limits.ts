import type { IncomingMessage, ServerResponse } from 'node:http'
import { accountOf } from '../access/request-limits.ts'
import type { Principal } from '../access/principal.ts'
import { AppError, tooManyRequests } from '../platform/errors.ts'
import { MAX_JSON_BYTES } from './body-limits.ts'

/** The default of `requestsPerAccount`: programs send a few dozen requests at a time. */
export const MAX_REQUESTS_PER_ACCOUNT = 100
/** Bodies of an account that are in memory at a time. Uploads are not: they are written as they arrive. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Concurrent bytes of bodies and answers per account; more requests take turns. It is one page of a list. */
const MAX_BYTES_AT_ONCE = 4 * 1024 * 1024
/** Smaller requests take no turns. */
const SMALL_BYTES = 64 * 1024
/** The assumed size of an answer of a kind that the account has not had yet. */
const UNKNOWN_ANSWER_BYTES = 1024 * 1024
/**
 * The minimum weight of a change until it is answered: four of an account run at a time. Changes of the same object
 * wait for each other in the database, where each occupies one of the connections of all accounts.
 */
const CHANGE_BYTES = MAX_BYTES_AT_ONCE / 4
/** Reads of an operation wait for so long for the first one of their account. A slow one must not delay them. */
const FIRST_READ_MS = 200
/** The number of answers whose sizes are remembered; the oldest are dropped. */
const MAX_KNOWN = 10_000

/** The current requests of one account. */
interface Work {
  requests: number
  bodyBytes: number
  /** The bytes of the large requests that are running. */
  bytesAtOnce: number
  /** Large requests in the order of their arrival. */
  readonly waiting: Set<LargeRequest>
}

interface LargeRequest {
  readonly bytes: number
  readonly proceed: () => void
}

/** The first read of a kind whose size is not known yet. */
interface FirstRead {
  readonly entry: Entry
  /** Resolves when its size is known, or it has ended without an answer. */
  readonly settled: Promise<void>
  readonly settle: () => void
}

interface Entry {
  readonly work: Work
  /** The account and the operation. */
  readonly kind: string
  readonly bodyBytes: number
  /** Its share of `bytesAtOnce`. */
  held: number
}

export interface WorkLimits {
  /**
   * Counts the request for the account of its caller until its answer has been sent, or its client has disconnected. It
   * waits for its turn if it is large or changes something.
   * @param onWait Called if it has to wait for other requests of its account.
   * @returns True if it has waited.
   * @throws AppError rate_limited for a request beyond the limit of the account.
   */
  enter(principal: Principal, exchange: Exchange, onWait: () => void): Promise<boolean>
  /** Call it when an answer is sent: the next ones of its kind count with the same size. */
  weighAnswer(response: ServerResponse, bytes: number): void
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The operation, whose answers are expected to be similar. */
  readonly route: string
}

interface WorkLimitsOptions {
  readonly requestsPerAccount: number
  /** How long reads of an operation wait for the first one of their account at most. Default: 200 ms. */
  readonly firstReadMs?: number | undefined
}

/** Bounds the work in progress of one account, with all its sessions and tokens together. */
export function createWorkLimits({ requestsPerAccount, firstReadMs = FIRST_READ_MS }: WorkLimitsOptions): WorkLimits {
  const accounts = new Map<string, Work>()
  const entries = new WeakMap<ServerResponse, Entry>()
  const answerBytes = new Map<string, number>()
  const firsts = new Map<string, FirstRead>()

  /** Ten pages of an unknown size may be ten of the largest, so they wait for a moment until one of them is known. */
  async function awaitSize(entry: Entry, response: ServerResponse, onWait: () => void): Promise<void> {
    for (;;) {
      const first = firsts.get(entry.kind)
      if (answerBytes.has(entry.kind) || first === undefined) break
      onWait()
      if (!(await settles(first, response, firstReadMs))) return
    }
    if (answerBytes.has(entry.kind)) return
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
    firsts.set(entry.kind, { entry, settled, settle })
  }

  function settleFirst(entry: Entry): void {
    const first = firsts.get(entry.kind)
    if (first?.entry !== entry) return
    firsts.delete(entry.kind)
    first.settle()
  }

  function assertRoom(work: Work, bodyBytes: number): void {
    if (work.requests >= requestsPerAccount)
      throw tooManyRequests(`No more than ${requestsPerAccount} requests of an account at a time.`, 1)
    if (work.bodyBytes > 0 && work.bodyBytes + bodyBytes > MAX_BODY_BYTES)
      throw tooManyRequests(`No more than ${MAX_BODY_BYTES} bytes in bodies of an account at a time.`, 1)
  }

  return {
    async enter(principal, { request, response, route }, onWait) {
      // The client left while its credentials were checked, so the end below would never come.
      if (response.closed) return false
      const account = accountOf(principal)
      const work = accounts.get(account) ?? { requests: 0, bodyBytes: 0, bytesAtOnce: 0, waiting: new Set() }
      const bodyBytes = bodyBytesOf(request)
      assertRoom(work, bodyBytes)
      work.requests += 1
      work.bodyBytes += bodyBytes
      accounts.set(account, work)
      const entry: Entry = { work, kind: `${account} ${request.method} ${route}`, bodyBytes, held: 0 }
      entries.set(response, entry)
      response.once('close', () => {
        work.requests -= 1
        work.bodyBytes -= bodyBytes
        settleFirst(entry)
        hold(entry, 0)
        if (work.requests === 0) accounts.delete(account)
      })
      if (!takesTurns(request)) return false
      let hasWaited = false
      const wait = (): void => {
        if (!hasWaited) onWait()
        hasWaited = true
      }
      if (isSafe(request)) await awaitSize(entry, response, wait)
      const all = bodyBytes + (answerBytes.get(entry.kind) ?? UNKNOWN_ANSWER_BYTES)
      const bytes = isSafe(request) ? all : Math.max(all, CHANGE_BYTES)
      if (bytes <= SMALL_BYTES) return hasWaited
      if (work.waiting.size === 0 && fits(work, bytes)) {
        hold(entry, bytes)
        return hasWaited
      }
      wait()
      await takeTurn(entry, bytes, response)
      return true
    },

    weighAnswer(response, bytes) {
      const entry = entries.get(response)
      if (entry === undefined || response.closed) return
      const [oldest] = answerBytes.keys()
      if (answerBytes.size >= MAX_KNOWN && oldest !== undefined) answerBytes.delete(oldest)
      answerBytes.delete(entry.kind)
      answerBytes.set(entry.kind, bytes)
      settleFirst(entry)
      const all = entry.bodyBytes + bytes
      hold(entry, all > SMALL_BYTES ? all : 0)
    },
  }
}

/** Resolves with false if it takes too long. */
async function settles({ settled }: FirstRead, response: ServerResponse, withinMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      reject(hasLeft())
    }
    const end = (isSettled: boolean): void => {
      clearTimeout(timer)
      response.off('close', leave)
      resolve(isSettled)
    }
    const timer = setTimeout(end, withinMs, false)
    response.once('close', leave)
    void settled.then(() => end(true))
  })
}

async function takeTurn(entry: Entry, bytes: number, response: ServerResponse): Promise<void> {
  const { work } = entry
  await new Promise<void>((resolve, reject) => {
    const waiting = {
      bytes,
      proceed() {
        response.off('close', leave)
        work.waiting.delete(waiting)
        entry.held = bytes
        work.bytesAtOnce += bytes
        resolve()
      },
    }
    const leave = (): void => {
      work.waiting.delete(waiting)
      reject(hasLeft())
    }
    response.once('close', leave)
    work.waiting.add(waiting)
  })
}

function hasLeft(): AppError {
  return new AppError('rate_limited', 'The client left while it waited for its turn')
}

/** A request that is larger than the whole share runs alone. */
function fits({ bytesAtOnce }: Work, bytes: number): boolean {
  return bytesAtOnce === 0 || bytesAtOnce + bytes <= MAX_BYTES_AT_ONCE
}

function hold(entry: Entry, bytes: number): void {
  const { work } = entry
  work.bytesAtOnce += bytes - entry.held
  entry.held = bytes
  for (const next of work.waiting) {
    if (!fits(work, next.bytes)) return
    next.proceed()
  }
}

/** Returns the size of a JSON body; the largest that it may have if the request does not declare it. */
export function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['content-type']?.toLowerCase().startsWith('application/json') !== true) return 0
  if (headers['transfer-encoding'] !== undefined) return MAX_JSON_BYTES
  return Number(headers['content-length'] ?? 0)
}

function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** False for uploads and streams, which take long and hold little. */
export function takesTurns(request: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding, upgrade } = request.headers
  const hasBody = coding !== undefined || Number(length) > 0
  return upgrade === undefined && (!hasBody || bodyBytesOf(request) > 0)
}
