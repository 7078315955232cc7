import type { IncomingMessage, ServerResponse } from 'node:http'
import { tooManyRequests } from '../../../platform/errors.ts'
import { hiddenProperty } from '../../../platform/hidden-property.ts'
import { bodyBytesOf, isRead, isUpload, takesTurns } from '../request-body.ts'
import { assertStays, hasLeft, onceOver } from '../completion/request-end.ts'
import { createUnreadAnswers } from './unread-answers.ts'

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
/** How long requests of an operation wait for the first one of their account. A slow one must not delay them further. */
const FIRST_MS = 200
/** The number of answers whose sizes are remembered; the oldest are dropped. */
const MAX_KNOWN = 10_000
/** The largest answer of this time is what the next one is expected to be: sizes may alternate. */
const REMEMBERED_MS = 10 * 60_000
/** Answers of all accounts that have not been read. One account has about 4 MiB, which is one page of a list. */
const MAX_UNREAD_BYTES = 128 * 1024 * 1024

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

/** The first request of a kind: nothing is known about this kind until it has been answered. */
interface First {
  readonly entry: Entry
  /** Resolves when it has been answered, has ended without an answer, or takes too long. */
  readonly settled: Promise<void>
  readonly settle: () => void
  /** It takes too long. */
  isSlow: boolean
}

/** The largest recent answer to requests of a kind. */
interface Answer {
  readonly bytes: number
  readonly atMs: number
}

interface Entry {
  readonly account: string
  readonly work: Work
  /** The account and what it asks for. */
  readonly kind: string
  readonly bodyBytes: number
  /** Its share of `bytesAtOnce`. */
  held: number
  /** Counts it no longer. */
  readonly leave: () => void
}

export interface WorkLimits {
  /**
   * Counts the request for the account until it is over, see onceOver(). It waits for its
   * turn if it is large or changes something, and if it is not the first one of its kind, for the answer to that one.
   * @param onWait Called if it has to wait for other requests of its account.
   * @throws AppError rate_limited for a request beyond the limit of the account, for a large one of an account that has
   *   more unread answers than others while there are too many, and if the client has left.
   */
  enter(account: string, exchange: Exchange, onWait: () => void): Promise<void>
  /** Counts the request no longer, because it belongs to another account. */
  leave(response: ServerResponse): void
  /** Call it when an answer is sent: unless it is a refusal, the next ones of its kind count with the same size. */
  weighAnswer(response: ServerResponse, bytes: number): void
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers to requests of one kind are expected to be similar. */
  readonly kind: string
}

interface WorkLimitsOptions {
  readonly requestsPerAccount: number
  /** How long requests of an operation wait for the first one of their account at most. Default: 200 ms. */
  readonly firstMs?: number | undefined
  /** The bytes of unread answers of all accounts. Default: 128 MiB. */
  readonly maxUnreadBytes?: number | undefined
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Bounds the work in progress of one account, with all its sessions and tokens together. */
export function createWorkLimits({
  requestsPerAccount,
  firstMs = FIRST_MS,
  maxUnreadBytes = MAX_UNREAD_BYTES,
  now,
}: WorkLimitsOptions): WorkLimits {
  const accounts = new Map<string, Work>()
  const entries = hiddenProperty<ServerResponse, Entry>('work limits')
  const answers = new Map<string, Answer>()
  const unread = createUnreadAnswers(maxUnreadBytes)
  const firsts = new Map<string, First>()

  /** Ten requests of an unknown kind may be ten of the most expensive, so they wait for a moment until one is known. */
  async function awaitFirst(entry: Entry, response: ServerResponse, onWait: () => void): Promise<void> {
    const untilMs = now() + firstMs
    for (;;) {
      if (answers.has(entry.kind)) return
      const first = firsts.get(entry.kind)
      if (first === undefined) return beFirst(entry)
      // Each one may be refused, and the next one is the first again.
      if (first.isSlow || now() >= untilMs) return
      onWait()
      await settles(first, response)
    }
  }

  function beFirst(entry: Entry): void {
    const { promise: settled, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      first.isSlow = true
      resolve()
    }, firstMs)
    const settle = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const first: First = { entry, settled, settle, isSlow: false }
    firsts.set(entry.kind, first)
  }

  function settleFirst(entry: Entry): void {
    const first = firsts.get(entry.kind)
    if (first?.entry !== entry) return
    firsts.delete(entry.kind)
    first.settle()
  }

  function learn(kind: string, bytes: number): void {
    const before = answers.get(kind)
    const [oldest] = answers.keys()
    if (answers.size >= MAX_KNOWN && oldest !== undefined) answers.delete(oldest)
    answers.delete(kind)
    const isLess = before !== undefined && bytes < before.bytes && now() - before.atMs < REMEMBERED_MS
    answers.set(kind, isLess ? before : { bytes, atMs: now() })
  }

  function assertRoom(work: Work, bodyBytes: number): void {
    if (work.requests >= requestsPerAccount)
      throw tooManyRequests(`No more than ${requestsPerAccount} requests of an account at a time.`, 1)
    if (work.bodyBytes > 0 && work.bodyBytes + bodyBytes > MAX_BODY_BYTES)
      throw tooManyRequests(`No more than ${MAX_BODY_BYTES} bytes in bodies of an account at a time.`, 1)
  }

  return {
    async enter(account, { request, response, kind }, onWait) {
      assertStays(response)
      const work = accounts.get(account) ?? { requests: 0, bodyBytes: 0, bytesAtOnce: 0, waiting: new Set() }
      const bodyBytes = bodyBytesOf(request)
      assertRoom(work, bodyBytes)
      work.requests += 1
      work.bodyBytes += bodyBytes
      accounts.set(account, work)
      const leave = (): void => {
        stay()
        work.requests -= 1
        work.bodyBytes -= bodyBytes
        settleFirst(entry)
        hold(entry, 0)
        if (work.requests === 0) accounts.delete(account)
      }
      const entry: Entry = { account, work, kind: `${account} ${kind}`, bodyBytes, held: 0, leave }
      entries.set(response, entry)
      const stay = onceOver(response, leave)
      const isLong = isUpload(request)
      if (!isLong && !takesTurns(request)) return
      let hasWaited = false
      const wait = (): void => {
        if (!hasWaited) onWait()
        hasWaited = true
      }
      await awaitFirst(entry, response, wait)
      if (isLong) return
      const expectedBytes = answers.get(entry.kind)?.bytes ?? UNKNOWN_ANSWER_BYTES
      if (expectedBytes > SMALL_BYTES) unread.assertRoom(account, expectedBytes)
      const all = bodyBytes + expectedBytes
      const bytes = isRead(request) ? all : Math.max(all, CHANGE_BYTES)
      if (bytes <= SMALL_BYTES) return
      if (work.waiting.size === 0 && fits(work, bytes)) {
        hold(entry, bytes)
        return
      }
      wait()
      await takeTurn(entry, bytes, response)
    },

    leave(response) {
      entries.get(response)?.leave()
      entries.set(response, undefined)
    },

    weighAnswer(response, bytes) {
      const entry = entries.get(response)
      if (entry === undefined || response.closed) return
      // A refusal says nothing about the next answer.
      if (response.statusCode < 400) learn(entry.kind, bytes)
      // What it has cost is known when its answer has been sent.
      setImmediate(settleFirst, entry)
      if (bytes > SMALL_BYTES) unread.add(entry.account, response, bytes)
      const all = entry.bodyBytes + bytes
      hold(entry, all > SMALL_BYTES ? all : 0)
    },
  }
}

/** @throws AppError rate_limited if the client leaves meanwhile. */
async function settles({ settled }: First, response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(hasLeft())
    response.once('close', leave)
    void settled.then(() => {
      response.off('close', leave)
      resolve()
    })
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
