import type { ServerResponse } from 'node:http'
import { tooManyRequests } from '../../platform/errors.ts'
import { hiddenProperty } from '../../platform/hidden-property.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { UNKNOWN_CALLERS, type Demand, createAccountUse } from './accounts/account-use.ts'
import { type Group, type Kind, type Lane, type Requester, type Waiting, createLanes } from './lanes.ts'
import { createLightWork } from './light-work.ts'
import { createRequestCosts } from './costs/request-costs.ts'
import { type Outcome, assertStays, hasLeft, onceOver } from './completion/request-end.ts'
import { createThreadShare } from './costs/thread-share.ts'

/** Requests of one account that may be in work while other accounts send some, too; each kind counts apart. */
const SHARES = { read: 8, change: 8, upload: 2 } as const satisfies Record<Kind, number>
/** Those of a heavy account that cost little, together. */
const QUICK_SHARE = 8
/** A request that takes longer mostly waits for something other than the main thread. */
export const TURN_MS = 100
/**
 * A request of a heavy account keeps its place for this many times as long: it mostly does work, and the next one would
 * begin beside it. After this time no cost of a request is measured any more, but that of other processes is still added.
 */
const HEAVY_TURNS = 10
/** The longest pause of a heavy account after a request. */
const MAX_PAUSE_MS = 1000
/** The longest one of unknown callers: they are many people, and after a start of the server nobody is known. */
const MAX_UNKNOWN_PAUSE_MS = 100
/** Requests of a heavy account that cost less begin beside each other, and beside light ones. */
const QUICK_MS = 5
/** A longer request of a heavy account begins when no light one is in work, but it waits no longer than this for that. */
const PATIENCE_MS = 50
/** In the middle of its work a long request waits for light ones for no longer than this, in all its pauses together. */
const GIVING_WAY_MS = 200
/** The cost of a change besides that for the main thread: the database commits it. */
const CHANGE_MS = 3
/** The time of the database for a body of a megabyte, which it compresses and logs. */
const MEGABYTE_MS = 30

/** A request in work. */
interface Entry {
  /** Gives its place back before its answer has been sent. */
  readonly interrupt: () => void
  /** Counts it as light no longer. */
  readonly becomeLong: () => void
  /** How much longer it may wait for light ones. */
  patienceMs: number
  /** Its cost in other processes. */
  elsewhereMs: number
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
  /**
   * Counts a request that waits for others of its account before it enters.
   * @returns A function to call when it waits no longer.
   */
  countWaiting(who: Requester): () => void
  /** Counts work that earlier requests of the account have caused in the database; see AccountUse. */
  charge(account: string, databaseMs: number): void
  /** Adds milliseconds of another process to the cost of a request. They weigh as much as those of the main thread. */
  addCost(response: ServerResponse, ms: number): void
  /** True if the account uses so much that others go first. */
  isHeavy(account: string): boolean
  /** True if no other account has sent a request lately. */
  isAlone(account: string): boolean
  /**
   * Lets everything that waits for the event loop have its turn in the middle of a long computation for a request, and
   * light requests of others their end, unless the request has waited for them for long enough.
   */
  giveWay(response: ServerResponse): Promise<void>
}

interface FairTurnsOptions {
  /** Requests of one account that may be in work or wait. */
  readonly maxInWork: number
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Milliseconds of processor time that this thread has used. */
  readonly cpuMs: () => number
  /** Milliseconds for which its event loop was busy. */
  readonly busyMs: () => number
  /** After this time a request gives its place back. */
  readonly turnMs: number
}

/**
 * Shares the main thread and the database between accounts. If one account sends a hundred requests at a time while
 * others send some, only a few of the hundred are handled at a time, so the others wait behind a few requests and not
 * behind a hundred. If it also uses much of the main thread, more than another one, it is heavy: its requests are handled
 * one by one, when no light ones are in work, with pauses that leave it a fifth of the main thread. Those of all
 * unknown callers together are handled eight at a time. If only one account sends requests, none wait. A slow request
 * occupies its place for a tenth of a second, that of a heavy account for a whole one.
 */
export function createFairTurns({ maxInWork, now, cpuMs, busyMs, turnMs }: FairTurnsOptions): FairTurns {
  const obtainable = createThreadShare({ cpuMs, busyMs })
  const costs = createRequestCosts(cpuMs)
  const costOf = (account: string, requestKind: string): number | undefined =>
    costs.averageMs(costKey(account, requestKind))
  const use = createAccountUse({ now, obtainable, costOf })
  const light = createLightWork()
  const { groups, laneOf, removeIdle, removeIdleGroup } = createLanes()
  const entries = hiddenProperty<ServerResponse, Entry>('turn')
  /** Functions that add to the costs of requests, also of requests that have ended. */
  const costAdders = hiddenProperty<ServerResponse, (ms: number) => void>('cost')

  const isHeavy = ({ account }: Group): boolean => use.isHeavy(account)

  function mayBegin({ group, kind, running }: Lane, demand: Demand): boolean {
    if (use.isAlone(group.account)) return true
    if (running >= SHARES[kind] || !isHeavy(group)) return running < SHARES[kind]
    const isQuick = use.expectedMs(group.account, demand) <= QUICK_MS
    if (group.isPaused || group.running >= (isQuick || group.account === UNKNOWN_CALLERS ? QUICK_SHARE : 1))
      return false
    if (isQuick || light.isDone() || group.patience === 'over') return true
    if (group.patience === 'unused') waitForLight(group)
    return false
  }

  function waitForLight(group: Group): void {
    group.patience = 'waiting'
    void light.whenDone(PATIENCE_MS).then(() => {
      group.patience = 'over'
      proceed(group)
      removeIdleGroup(group)
    })
  }

  function begin(lane: Lane, who: Requester, response: ServerResponse): void {
    const { group } = lane
    lane.running += 1
    group.running += 1
    if (group.patience === 'over') group.patience = 'unused'
    const wasHeavy = isHeavy(group)
    const becomeLong = wasHeavy ? () => undefined : light.begin()
    const demand = demandOf(who)
    const expectedMs = use.begin(group.account, demand)
    if (wasHeavy) pause(group, pauseFor(expectedMs))
    const measured = costs.measure(costKey(group.account, who.requestKind))
    group.measured += 1
    let hasPlace = true
    const leavePlace = (): void => {
      if (!hasPlace) return
      hasPlace = false
      lane.running -= 1
      group.running -= 1
      becomeLong()
    }
    let isMeasured = false
    const charge = (outcome: Outcome): void => {
      if (isMeasured) return
      isMeasured = true
      becomeLong()
      const { databaseMs } = demand
      const threadMs = measured(outcome, entry.elsewhereMs)
      const isComplete = outcome !== 'cut'
      const realMs = use.end(group.account, { expectedMs, threadMs, databaseMs, isComplete })
      group.measured -= 1
      if (isHeavy(group)) pause(group, pauseFor(realMs - (wasHeavy ? expectedMs : 0)))
    }
    const finish = (outcome: Outcome): void => {
      response.off('prefinish', answered)
      stay()
      clearTimeout(timer)
      entries.set(response, undefined)
      charge(outcome)
      leavePlace()
      proceed(group)
      removeIdle(lane)
    }
    // Its client may never read the answer.
    const answered = (): void => charge(response.statusCode >= 400 ? 'refused' : 'whole')
    const interrupt = (): void => finish('cut')
    const expire = (): void => {
      timer = setTimeout(interrupt, (HEAVY_TURNS - 1) * turnMs)
      // Unknown callers are many people, of whom one may wait for an identity provider.
      if (group.account !== UNKNOWN_CALLERS && isHeavy(group)) return
      leavePlace()
      proceed(group)
      removeIdle(lane)
    }
    let timer = setTimeout(expire, turnMs)
    const entry: Entry = { interrupt, becomeLong, patienceMs: GIVING_WAY_MS, elsewhereMs: 0 }
    entries.set(response, entry)
    costAdders.set(response, (ms) => {
      if (!isMeasured) entry.elsewhereMs += ms
      else {
        costs.learnElsewhere(costKey(group.account, who.requestKind), ms)
        chargeLater(group.account, { threadMs: ms })
      }
    })
    response.once('prefinish', answered)
    const stay = onceOver(response, finish)
  }

  function chargeLater(account: string, work: Parameters<typeof use.charge>[1]): void {
    const ms = use.charge(account, work)
    const group = groups.get(account)
    if (group !== undefined && isHeavy(group)) pause(group, pauseFor(ms))
  }

  function pauseFor(costMs: number): number {
    const share = use.shareOfHeavy()
    return (costMs * (1 / share - 1)) / obtainable()
  }

  function pause(group: Group, ms: number): void {
    const longestMs = group.account === UNKNOWN_CALLERS ? MAX_UNKNOWN_PAUSE_MS : MAX_PAUSE_MS
    if (group.isPaused) {
      group.owedMs = Math.min(Math.max(group.owedMs + ms, 0), longestMs)
      return
    }
    group.isPaused = true
    setTimeout(
      () => {
        const { owedMs } = group
        group.isPaused = false
        group.owedMs = 0
        if (owedMs > 0) pause(group, owedMs)
        else {
          if (group.measured + group.waiting === 0) use.satisfy(group.account)
          proceed(group)
          removeIdleGroup(group)
        }
      },
      Math.min(Math.max(ms, 0), longestMs),
    ).unref()
  }

  /** Begins as many requests as may begin now. */
  function proceed({ crowded }: Group): void {
    for (let hasBegun = true; hasBegun;) {
      hasBegun = false
      for (const lane of [...crowded]) {
        const [next] = lane.waiting
        if (next === undefined || !mayBegin(lane, next.demand)) continue
        next.begin()
        hasBegun = true
      }
    }
  }

  function countWaiting(group: Group, demand: Demand, by: 1 | -1): void {
    group.waiting += by
    use.countWaiting(group.account, demand, by)
  }

  async function wait(lane: Lane, who: Requester, response: ServerResponse): Promise<void> {
    const { group, waiting } = lane
    const demand = demandOf(who)
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        response.off('close', left)
        waiting.delete(next)
        countWaiting(group, demand, -1)
        group.crowded.delete(lane)
        if (waiting.size > 0) group.crowded.add(lane)
      }
      const next: Waiting = {
        demand,
        begin() {
          end()
          begin(lane, who, response)
          resolve()
        },
      }
      const left = (): void => {
        end()
        removeIdle(lane)
        reject(hasLeft())
      }
      response.once('close', left)
      waiting.add(next)
      countWaiting(group, demand, 1)
      group.crowded.add(lane)
    })
  }

  return {
    async enter(who, response) {
      assertStays(response)
      const lane = laneOf(who)
      use.see(lane.group.account)
      if (lane.waiting.size === 0 && mayBegin(lane, demandOf(who))) return begin(lane, who, response)
      if (lane.running + lane.waiting.size >= maxInWork) {
        removeIdle(lane)
        throw tooManyRequests(`No more than ${maxInWork} requests of an account at a time.`, 1)
      }
      await wait(lane, who, response)
    },
    leave(response) {
      entries.get(response)?.interrupt()
    },
    countWaiting(who) {
      const lane = laneOf(who)
      const demand = demandOf(who)
      countWaiting(lane.group, demand, 1)
      return () => {
        countWaiting(lane.group, demand, -1)
        removeIdle(lane)
      }
    },
    charge: (account, databaseMs) => chargeLater(account, { databaseMs }),
    addCost: (response, ms) => costAdders.get(response)?.(ms),
    isAlone: (account) => use.isAlone(account),
    isHeavy(account) {
      const group = groups.get(account)
      return group !== undefined && !use.isAlone(account) && isHeavy(group)
    },
    async giveWay(response) {
      const entry = entries.get(response)
      entry?.becomeLong()
      await nextTurn()
      if (entry === undefined || light.isDone() || entry.patienceMs <= 0) return
      const beganMs = now()
      await light.whenDone(entry.patienceMs)
      entry.patienceMs -= now() - beganMs
    },
  }
}

function demandOf({ requestKind, kind, bodyBytes }: Requester): Demand {
  return { requestKind, databaseMs: (kind === 'read' ? 0 : CHANGE_MS) + (bodyBytes / 1024 / 1024) * MEGABYTE_MS }
}

function costKey(account: string, requestKind: string): string {
  return `${account} ${requestKind}`
}
