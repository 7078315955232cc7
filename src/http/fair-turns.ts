import type { ServerResponse } from 'node:http'
import { AppError, tooManyRequests } from '../platform/errors.ts'

/** Requests of one account that may be in work while other accounts send some, too; reads and changes count apart. */
const SHARE = 8
/** An account counts as present for this long after its last request. */
const PRESENT_MS = 2000
/** A request that takes longer mostly waits for something other than the main thread. */
export const TURN_MS = 100

interface Lane {
  running: number
  /** In the order of their arrival. */
  readonly waiting: Set<() => void>
}

export interface Requester {
  readonly account?: string | undefined
  readonly network: string
  /** Reads and changes have separate places, because changes may wait for each other, and for names. */
  readonly kind: 'read' | 'change'
}

export interface FairTurns {
  /**
   * Waits until the account may have another request in work. The request occupies this place until its answer has been
   * sent, its time is over, or `leave` is called.
   * @param who The account, or the network of a caller who is not known yet.
   * @throws AppError rate_limited if too many requests wait, or the client has left.
   */
  enter(who: Requester, response: ServerResponse): Promise<void>
  /** Gives the place of a request back before its answer has been sent. */
  leave(response: ServerResponse): void
}

interface FairTurnsOptions {
  /** Requests of one account that may be in work or wait. */
  readonly maxInWork: number
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** After this time a request gives its place back. */
  readonly turnMs: number
}

/**
 * Shares the main thread and the database between accounts. If one account sends a hundred requests at a time while
 * others send some, only a few of the hundred are handled at a time, so the others wait behind a few requests and not
 * behind a hundred. If only one account sends requests, none wait. A slow request occupies its place only for a tenth
 * of a second.
 */
export function createFairTurns({ maxInWork, now, turnMs }: FairTurnsOptions): FairTurns {
  const lanes = new Map<string, Lane>()
  const entries = new WeakMap<ServerResponse, () => void>()
  let last = { account: '', atMs: -Infinity }
  /** When any other account than the last one has sent a request. */
  let othersAtMs = -Infinity

  function isAlone(account: string | undefined): boolean {
    const nowMs = now()
    if (account === undefined) return nowMs - last.atMs > PRESENT_MS
    if (account !== last.account) othersAtMs = last.atMs
    last = { account, atMs: nowMs }
    return nowMs - othersAtMs > PRESENT_MS
  }

  function begin(who: string, lane: Lane, response: ServerResponse): void {
    lane.running += 1
    const release = (): void => {
      response.off('close', release)
      clearTimeout(timer)
      entries.delete(response)
      lane.running -= 1
      const [next] = lane.waiting
      if (next !== undefined && lane.running < SHARE) next()
      else if (lane.running === 0 && lane.waiting.size === 0) lanes.delete(who)
    }
    const timer = setTimeout(release, turnMs)
    entries.set(response, release)
    response.once('close', release)
  }

  return {
    async enter({ account, network, kind }, response) {
      if (response.closed) return
      const who = `${kind} ${account ?? network}`
      const lane = lanes.get(who) ?? { running: 0, waiting: new Set() }
      lanes.set(who, lane)
      const mayRun = isAlone(account) || lane.running < SHARE
      if (mayRun && lane.waiting.size === 0) return begin(who, lane, response)
      if (lane.running + lane.waiting.size >= maxInWork)
        throw tooManyRequests(`No more than ${maxInWork} requests of an account at a time.`, 1)
      await new Promise<void>((resolve, reject) => {
        const proceed = (): void => {
          response.off('close', left)
          lane.waiting.delete(proceed)
          begin(who, lane, response)
          resolve()
        }
        const left = (): void => {
          lane.waiting.delete(proceed)
          reject(new AppError('rate_limited', 'The client left while it waited for its turn'))
        }
        response.once('close', left)
        lane.waiting.add(proceed)
      })
    },
    leave(response) {
      entries.get(response)?.()
    },
  }
}
