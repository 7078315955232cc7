import type { ServerResponse } from 'node:http'
import { AppError, tooManyRequests } from '../platform/errors.ts'
import { STRANGERS, createAccountUse } from './account-use.ts'
import { createRequestCosts } from './request-costs.ts'

/** Requests of one account that may be in work while other accounts send some, too; reads and changes count apart. */
const SHARE = 8
/** A request that takes longer mostly waits for something other than the main thread. */
export const TURN_MS = 100
/**
 * A request of a heavy account keeps its place for this many times as long: it mostly does work, and the next one would
 * begin beside it.
 */
const HEAVY_TURNS = 10
/** After a heavy account's request that cost more, the account pauses for twice the rest. */
const QUICK_MS = 5
/** What a change costs besides the main thread: the database commits it. */
const CHANGE_MS = 3
/** What the database needs for a body of a megabyte: it compresses and logs it. */
const MEGABYTE_MS = 30

/** The reads or the changes of one account, or of one network of strangers. */
interface Lane {
  readonly name: string
  readonly group: Group
  running: number
  /** In the order of their arrival. */
  readonly waiting: Set<() => void>
}

/** The lanes of one account, or those of all strangers. */
interface Group {
  readonly account: string
  running: number
  /** Nothing begins while the account is heavy. */
  isPaused: boolean
  lanes: number
  /** Lanes in which requests wait, those first that have waited longest since their last turn. */
  readonly crowded: Set<Lane>
}

export interface Requester {
  readonly account?: string | undefined
  readonly network: string
  /** Requests of the same operation are expected to cost the same. */
  readonly operation: string
  /** Reads and changes have separate places, because changes may wait for each other, and for names. */
  readonly kind: 'read' | 'change'
  /** The size of its body. */
  readonly bodyBytes: number
  /** True if the request has been in work before, and is not to be refused any more. */
  readonly isAdmitted?: boolean
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
  /** Milliseconds of processor time that this thread has used. */
  readonly cpuMs: () => number
  /** After this time a request gives its place back. */
  readonly turnMs: number
}

/**
 * Shares the main thread and the database between accounts. If one account sends a hundred requests at a time while
 * others send some, only a few of the hundred are handled at a time, so the others wait behind a few requests and not
 * behind a hundred. If it also uses much of the main thread, more than another one, they are handled one by one, with
 * pauses after long ones; those of all strangers together are handled eight at a time. If only one account sends
 * requests, none wait. A slow request occupies its place for a tenth of a second, that of a heavy account for a whole
 * one.
 */
export function createFairTurns({ maxInWork, now, cpuMs, turnMs }: FairTurnsOptions): FairTurns {
  const use = createAccountUse(now)
  const costs = createRequestCosts(cpuMs)
  const groups = new Map<string, Group>()
  const lanes = new Map<string, Lane>()
  const entries = new WeakMap<ServerResponse, () => void>()

  function mayBegin({ group, running }: Lane): boolean {
    if (use.isAlone(group.account)) return true
    if (running >= SHARE || !use.isHeavy(group.account)) return running < SHARE
    return !group.isPaused && group.running < (group.account === STRANGERS ? SHARE : 1)
  }

  function begin(lane: Lane, who: Requester, response: ServerResponse): void {
    const { group } = lane
    lane.running += 1
    group.running += 1
    const expectedMs = use.begin(group.account)
    const measured = costs.measure(`${group.account} ${who.operation}`)
    const release = (isComplete: boolean): void => {
      response.off('close', complete)
      clearTimeout(timer)
      entries.delete(response)
      const realMs = measured(isComplete) + databaseMs(who)
      use.end(group.account, { expectedMs, realMs })
      lane.running -= 1
      group.running -= 1
      if (realMs > QUICK_MS && use.isHeavy(group.account)) pause(group, 2 * (realMs - QUICK_MS))
      proceed(group)
      removeIdle(lane)
    }
    const complete = (): void => release(true)
    const interrupt = (): void => release(false)
    const expire = (): void => {
      // Strangers are many people, of whom one may wait for an identity provider.
      if (group.account !== STRANGERS && use.isHeavy(group.account))
        timer = setTimeout(interrupt, (HEAVY_TURNS - 1) * turnMs)
      else interrupt()
    }
    let timer = setTimeout(expire, turnMs)
    entries.set(response, interrupt)
    response.once('close', complete)
  }

  function pause(group: Group, ms: number): void {
    if (group.isPaused) return
    group.isPaused = true
    setTimeout(
      () => {
        group.isPaused = false
        proceed(group)
        removeIdleGroup(group)
      },
      Math.min(ms, TURN_MS),
    ).unref()
  }

  /** Begins as many requests as may begin now. */
  function proceed({ crowded }: Group): void {
    for (let hasBegun = true; hasBegun;) {
      hasBegun = false
      for (const lane of [...crowded]) {
        const [next] = lane.waiting
        if (next === undefined || !mayBegin(lane)) continue
        next()
        hasBegun = true
      }
    }
  }

  function removeIdle({ name, group, running, waiting }: Lane): void {
    if (running > 0 || waiting.size > 0 || !lanes.delete(name)) return
    group.lanes -= 1
    removeIdleGroup(group)
  }

  function removeIdleGroup({ account, lanes: count, isPaused }: Group): void {
    if (count === 0 && !isPaused) groups.delete(account)
  }

  function laneOf({ account = STRANGERS, network, kind }: Requester): Lane {
    const name = account === STRANGERS ? `${kind} ${network}` : `${kind} ${account}`
    const known = lanes.get(name)
    if (known !== undefined) return known
    const group = groups.get(account) ?? { account, running: 0, isPaused: false, lanes: 0, crowded: new Set() }
    groups.set(account, group)
    group.lanes += 1
    const lane: Lane = { name, group, running: 0, waiting: new Set() }
    lanes.set(name, lane)
    return lane
  }

  async function wait(lane: Lane, who: Requester, response: ServerResponse): Promise<void> {
    const { group, waiting } = lane
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        response.off('close', left)
        waiting.delete(next)
        group.crowded.delete(lane)
        if (waiting.size > 0) group.crowded.add(lane)
      }
      const next = (): void => {
        end()
        begin(lane, who, response)
        resolve()
      }
      const left = (): void => {
        end()
        removeIdle(lane)
        reject(new AppError('rate_limited', 'The client left while it waited for its turn'))
      }
      response.once('close', left)
      waiting.add(next)
      group.crowded.add(lane)
    })
  }

  return {
    async enter(who, response) {
      if (response.closed) return
      const lane = laneOf(who)
      use.see(lane.group.account)
      if (lane.waiting.size === 0 && mayBegin(lane)) return begin(lane, who, response)
      if (who.isAdmitted !== true && lane.running + lane.waiting.size >= maxInWork) {
        removeIdle(lane)
        throw tooManyRequests(`No more than ${maxInWork} requests of an account at a time.`, 1)
      }
      await wait(lane, who, response)
    },
    leave(response) {
      entries.get(response)?.()
    },
  }
}

function databaseMs({ kind, bodyBytes }: Requester): number {
  return (kind === 'change' ? CHANGE_MS : 0) + (bodyBytes / 1024 / 1024) * MEGABYTE_MS
}
