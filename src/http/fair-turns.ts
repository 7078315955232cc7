import type { ServerResponse } from 'node:http'
import { AppError, tooManyRequests } from '../platform/errors.ts'

/** Requests of one account in work while others want something, too; reads and changes apart. */
const SHARE = 8
/** How long after its last request an account is taken for one that wants something. */
const PRESENT_MS = 2000
/** A request that takes longer mostly waits for something else than the main thread. */
export const TURN_MS = 100

interface Lane {
  running: number
  /** In the order of their arrival. */
  readonly waiting: Set<() => void>
}

export interface Requester {
  readonly account?: string | undefined
  readonly network: string
  /** Reads and changes have places of their own: changes may wait for each other, and for names. */
  readonly kind: 'read' | 'change'
}

export interface FairTurns {
  /**
   * Waits until the account may have another request in work, and keeps the place until the answer has been sent, its
   * time is over, or `leave` is called.
   * @param who Either the account, or the network of somebody who is not known yet.
   * @throws AppError rate_limited beyond what may wait, and for a client that has left.
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
 * Shares the main thread and the database between accounts: whoever sends a hundred requests at a time gets them handled a
 * few at a time while others want something, so these wait behind a few of its requests and not behind a hundred. An
 * account that is alone waits for nothing, and a slow request keeps its place for a tenth of a second only.
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
